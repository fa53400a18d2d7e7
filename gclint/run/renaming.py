"""Entries that are taken out of a dict to be put into it again, mostly under another name."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..ir.syntax import FORS, Module, nodes


def is_put_back(module: Module, taken: ast.AST) -> bool:
    """Whether what a `pop` or a `del` takes out of a dict goes into the same dict again, in the same block."""
    holder, key = _entry(taken)
    statement = module.statement(taken)
    if holder is None or key is None or statement is None:
        return False
    names, block = _names_around(module, statement, module.code(key)), module.block(statement)
    for line in block:
        if isinstance(line, ast.Assign) and _reads(module, line.value, taken, module.code(key), names):
            if any(_is_of(module, target, module.code(holder)) for target in line.targets):
                return True
            names |= {target.id for target in line.targets if isinstance(target, ast.Name)}
    return False


def _entry(taken: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    """The dict and the key of what is taken out."""
    if isinstance(taken, ast.Subscript):
        return taken.value, taken.slice
    if isinstance(taken, ast.Call) and isinstance(taken.func, ast.Attribute) and taken.args:
        return taken.func.value, taken.args[0]
    return None, None


def _names_around(module: Module, statement: ast.stmt, key: str) -> set[str]:
    """The name of the entry in loops over keys and entries, as in `for key, value in saved.items()`."""
    loops = [
        each for each in module.ancestors(statement) if isinstance(each, FORS) and isinstance(each.target, ast.Tuple)
    ]
    pairs: Sequence[list[ast.expr]] = [each.target.elts for each in loops if isinstance(each.target, ast.Tuple)]
    return {
        pair[1].id for pair in pairs if len(pair) == 2 and module.code(pair[0]) == key and isinstance(pair[1], ast.Name)
    }


def _reads(module: Module, value: ast.expr, taken: ast.AST, key: str, names: set[str]) -> bool:
    """Whether an expression is made of the entry: by its key, by a name of it or by taking it out."""
    return any(
        each is taken
        or (isinstance(each, ast.Name) and each.id in names)
        or (isinstance(each, ast.Subscript) and module.code(each.slice) == key)
        for each in nodes(value)
    )


def _is_of(module: Module, target: ast.expr, holder: str) -> bool:
    return isinstance(target, ast.Subscript) and module.code(target.value) == holder
