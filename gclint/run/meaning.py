"""What an expression stands for in the text: the one thing its name was bound to in the same function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..ir.layout import by_place, own_name
from ..ir.syntax import DEFINITIONS, FUNCTIONS, FunctionDef, Module, Site, dotted, nodes, parts
from .closures import enclosing_function, names_bound

MAX_HOPS = 4


def definition(module: Module, node: ast.expr) -> ast.expr:
    """The expression that a name was given, through other names too; the node itself when that is not certain."""
    for _ in range(MAX_HOPS):
        if not isinstance(node, ast.Name):
            break
        given = _given(module, enclosing_function(module, node), node.id)
        if given is None:
            break
        node = given
    return node


def spellings(module: Module, node: ast.expr) -> set[str]:
    """The texts under which the same thing is known: its own, that of its definition, of what a partial calls."""
    meant = definition(module, node)
    found = {module.code(node), module.code(meant)}
    if isinstance(meant, ast.Call) and meant.args and dotted(meant.func).rsplit(".", 1)[-1] == "partial":
        found |= spellings(module, meant.args[0])
    return found


def method_called(module: Module, call: ast.Call) -> tuple[str, str]:
    """What a call's method belongs to, as text, and the method's name, also when it was kept in a variable."""
    meant = definition(module, call.func)
    return (module.code(meant.value), meant.attr) if isinstance(meant, ast.Attribute) else ("", "")


def handed_over(module: Module, function: ast.AST, what: ast.expr, caller: Site) -> ast.expr | None:
    """The expression that a caller gave for a parameter of a function."""
    if not isinstance(what, ast.Name) or not isinstance(function, FUNCTIONS) or not isinstance(caller.node, ast.Call):
        return None
    named = next((each.value for each in caller.node.keywords if each.arg == what.id), None)
    if named is not None or what.id not in by_place(function):
        return named
    place = by_place(function).index(what.id) - bool(own_name(module, function))
    return next(iter(caller.node.args[place : place + 1]), None) if place >= 0 else None


def apart(first: Site, second: Site) -> bool:
    """Whether two places of a function stand in opposite branches of the same question, asked once or twice, of what
    the function sets nowhere.
    """
    module, function = first.module, enclosing_function(first.module, first.node)
    if second.module is not module or enclosing_function(module, second.node) is not function:
        return False
    other = {module.code(test): truth for test, truth in _branches(second)}
    return any(
        other.get(module.code(test)) is (not truth) and not _sets(function, test) for test, truth in _branches(first)
    )


def _branches(site: Site) -> Iterator[tuple[ast.expr, bool]]:
    """The questions of the `if`s around a place in its function, without a `not`, each with its answer there."""
    inner = site.node
    for outer in site.module.ancestors(site.node):
        if isinstance(outer, FUNCTIONS):
            return
        if isinstance(outer, ast.If) and inner is not outer.test:
            test, truth = outer.test, inner in outer.body
            while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test, truth = test.operand, not truth
            yield test, truth
        inner = outer


def _sets(function: ast.AST, test: ast.expr) -> bool:
    """Whether a question may get another answer within a function: it calls something, or something it reads is set."""
    if any(isinstance(part, (ast.Call, ast.Await, ast.NamedExpr)) for part in nodes(test)):
        return True
    read = {_last(part) for part in nodes(test)} - {""}
    stored = (part for part in nodes(function) if not isinstance(getattr(part, "ctx", ast.Load()), ast.Load))
    return any(_last(part) in read for part in stored)


def _last(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else f".{node.attr}" if isinstance(node, ast.Attribute) else ""


def _given(module: Module, scope: FunctionDef | ast.Module, name: str) -> ast.expr | None:
    """What the only binding of a name in a scope assigns; None when there are several, or it is no assignment."""
    if names_bound(module, scope)[name] != 1:
        return None
    for node in (inner for part in scope.body for inner in _within(part)):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == name:
                return node.value
    return None


def _within(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in parts(node):
        if not isinstance(child, (*DEFINITIONS, ast.Lambda)):
            yield from _within(child)
