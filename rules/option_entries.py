"""Dicts that are put together of all that another dict or an object has."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gclint.ir.syntax import Module

PUT_TOGETHER = (ast.DictComp, ast.GeneratorExp)


def same_entries(call: ast.AST | None, module: Module) -> ast.AST | None:
    """The dict that has the same entries as one that is gone through, or some of them; None where it is no such."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "copy":
        return call
    made, rounds, pair = _made_in_rounds(call, module)
    target = rounds.target if rounds is not None else None
    return made if isinstance(target, ast.Tuple) and _are_same_names(target.elts, pair) else None


def entries_by_name(call: ast.Call, module: Module) -> ast.AST | None:
    """The dict of all that an object has, of whose making a call is a part, either the one of `dir` or of `getattr`:
    `dict((name, getattr(options, name)) for name in dir(options))`; None for any other call.
    """
    around = next((each for each in module.ancestors(call) if isinstance(each, PUT_TOGETHER)), None)
    gone_through = around.generators[0].iter if around is not None else None
    made, rounds, pair = _made_in_rounds(gone_through, module)
    if rounds is None or not isinstance(gone_through, ast.Call) or not gone_through.args:
        return None
    held, name = ast.unparse(gone_through.args[0]), ast.unparse(rounds.target)
    written = [ast.unparse(each) for each in (gone_through, *pair)]
    return made if written == [f"dir({held})", name, f"getattr({held}, {name})"] else None


def is_one_of_all(taken: ast.AST, module: Module) -> bool:
    """Whether a loop over a dict takes each entry of it for another one: `config[key] = entries.get(key)`."""
    line = module.statement(taken)
    loop = module.parents.get(line) if line is not None else None
    if not isinstance(line, ast.Assign) or line.value is not taken or not isinstance(loop, ast.For):
        return False
    target, key = line.targets[0], ast.unparse(loop.target)
    if not isinstance(target, ast.Subscript) or ast.unparse(target.slice) != key:
        return False
    entries = ast.unparse(loop.iter).removesuffix(".keys()")
    return ast.unparse(taken) in (f"{entries}[{key}]", f"{entries}.get({key})")


def _made_in_rounds(
    gone_through: ast.AST | None, module: Module
) -> tuple[ast.AST | None, ast.comprehension | None, tuple[ast.expr, ...]]:
    """The dict that one comprehension over something makes, that comprehension, and the key and value of a round."""
    rounds = module.parents.get(gone_through) if gone_through is not None else None
    made = module.parents.get(rounds) if isinstance(rounds, ast.comprehension) else None
    if not isinstance(rounds, ast.comprehension) or not isinstance(made, PUT_TOGETHER) or len(made.generators) > 1:
        return None, None, ()
    if isinstance(made, ast.DictComp):
        return made, rounds, (made.key, made.value)
    outer = module.parents.get(made)
    if isinstance(outer, ast.Call) and ast.unparse(outer.func) == "dict" and isinstance(made.elt, ast.Tuple):
        return outer, rounds, tuple(made.elt.elts)
    return None, None, ()


def _are_same_names(bound: Sequence[ast.expr], read: Sequence[ast.expr]) -> bool:
    """Whether expressions are the names that are bound, in their order."""
    return len(bound) == len(read) and all(
        isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id
        for one, other in zip(bound, read, strict=True)
    )
