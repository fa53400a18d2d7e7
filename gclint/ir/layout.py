"""How code stands in the text: the blocks and lines of statements, and how arguments are written."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from typing import TypeVar

from ..source.lines import split_lines
from .syntax import FUNCTIONS, FunctionDef, Module, Site

T = TypeVar("T")
_CLOSING = re.compile(r"(?:(?:\s|\\\r?\n|#[^\r\n]*)*\))*")


def held_by(block: list[ast.stmt], site: Site) -> ast.stmt | None:
    """The statement of a block in which a node stands; None where it stands in none."""
    around = (site.node, *site.module.ancestors(site.node))
    return next((node for node in around if isinstance(node, ast.stmt) and node in block), None)


def line_of(module: Module, node: ast.AST) -> list[ast.stmt]:
    """The statements on the lines of the one that holds a node: several of `a; b`, of `if a: b` the `if` alone."""
    statement = module.statement(node)
    while statement is not None:
        block = module.block(statement)
        found = next((line for line in _lines(block) if statement in line), [])
        span = module.span(found[0] if found else statement)
        if not module.lines[span.line - 1][: span.column - 1].strip():
            return found
        outer = module.parents.get(statement)
        statement = module.statement(outer) if outer is not None else None
    return []


def _lines(block: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    line = block[:1]
    for above, below in pairwise(block):
        if above.end_lineno == below.lineno:
            line.append(below)
        else:
            yield line
            line = [below]
    yield line


def on_its_own(module: Module, node: ast.AST) -> ast.stmt | None:
    """The statement that holds a node, where it has its lines to itself; None where it shares them."""
    line = line_of(module, node)
    return line[0] if len(line) == 1 else None


def end_of(module: Module, node: ast.AST, around: ast.AST) -> tuple[int, int]:
    """The line and column behind an expression and the parentheses around it, in a node that ends in a bracket."""
    span, last = module.span(node), module.span(around)
    after = module.lines[span.end_line - 1 : last.end_line]
    after[-1] = after[-1][: last.end_column - 2]
    after[0] = after[0][span.end_column - 1 :]
    closing = _CLOSING.match("".join(after))
    assert closing is not None
    passed = split_lines(closing.group())
    if len(passed) < 2:
        return span.end_line, span.end_column + closing.end()
    return span.end_line + len(passed) - 1, len(passed[-1]) + 1


def spelled(module: Module, argument: ast.expr | ast.keyword) -> str:
    """An argument of a call as text: `x`, `*x`, `name=x`, `**x`."""
    lead = "*" if isinstance(argument, ast.Starred) else ""
    if isinstance(argument, ast.keyword):
        lead = f"{argument.arg}=" if argument.arg else "**"
    return lead + module.code(value_of(argument))


def value_of(argument: ast.expr | ast.keyword) -> ast.expr:
    """What an argument gives, without the name or the stars before it."""
    return argument.value if isinstance(argument, (ast.keyword, ast.Starred)) else argument


def is_spread(argument: ast.expr | ast.keyword) -> bool:
    """Whether an argument is `*x` or `**x`."""
    return isinstance(argument, ast.Starred) or (isinstance(argument, ast.keyword) and argument.arg is None)


def by_place(function: FunctionDef | ast.Lambda) -> list[str]:
    """The names of a function's parameters that a call may fill by place."""
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def own_name(module: Module, function: ast.AST) -> str:
    """The name that a method has for its object: that of its first parameter; "" for what is no method of an object."""
    if not isinstance(function, FUNCTIONS) or not isinstance(module.parents.get(function), ast.ClassDef):
        return ""
    static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in function.decorator_list)
    return next(iter(by_place(function)), "") if not static else ""


def gather(read: Callable[[ast.AST], Iterable[T]], code: Iterable[ast.AST]) -> Iterator[T]:
    """What a reader finds in several nodes, such as the statements of a block."""
    return chain.from_iterable(map(read, code))
