"""Parts of something that code takes by numbers which it draws."""

from __future__ import annotations

import ast

from gclint.ir.syntax import FORS, FUNCTIONS, dotted, nodes, parameters
from gclint.run.closures import read_names

DRAWS = ("rand", "choice", "shuffle", "sample", "permutation")


def given_names(body: ast.AST) -> set[str]:
    """What a function is given, or the loops in some code give it, and what is made of that, by name."""
    given = {each.arg for each, _ in parameters(body.args)} if isinstance(body, FUNCTIONS) else set[str]()
    for node in nodes(body):
        if isinstance(node, FORS):
            given |= {each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)}
    return given | {name for name, value in _assigned(body) if given.intersection(read_names(value))}


def drawn_names(body: ast.AST) -> set[str]:
    """The names that code gives numbers which it draws, or what it works out of them."""
    return {name for name, value in _assigned(body) if draws(value)}


def picks_at_random(body: ast.AST, held: set[str]) -> bool:
    """Whether code takes parts of what these names hold by numbers that it draws."""
    drawn = drawn_names(body)
    taken = (each for each in nodes(body) if isinstance(each, ast.Subscript))
    parts = (each.slice for each in taken if dotted(each.value).partition(".")[0] in held)
    return any(draws(each) or drawn.intersection(read_names(each)) for each in parts)


def _assigned(body: ast.AST) -> list[tuple[str, ast.expr]]:
    lines = [each for each in nodes(body) if isinstance(each, ast.Assign)]
    return [
        (name.id, line.value)
        for line in lines
        for target in line.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    ]


def draws(value: ast.AST) -> bool:
    """Whether code calls something that draws numbers, as far as its name says."""
    called = (
        dotted(each.func) or getattr(each.func, "attr", "") for each in nodes(value) if isinstance(each, ast.Call)
    )
    return any(word in name.rpartition(".")[2] for name in called for word in DRAWS)
