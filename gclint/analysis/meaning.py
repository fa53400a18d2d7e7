"""What an expression stands for in the text: the one thing its name was bound to in the same function."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from .closures import bound_names, enclosing_function
from .syntax import Module, dotted, parts

MAX_HOPS = 4


def definition(module: Module, node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression that a name was given, through other names too; the node itself when that is not certain."""
    for _ in range(MAX_HOPS):
        if not isinstance(node, cst.Name):
            break
        given = _given(enclosing_function(module, node), node.value)
        if given is None:
            break
        node = given
    return node


def spellings(module: Module, node: cst.BaseExpression) -> set[str]:
    """The texts under which the same thing is known: its own, that of its definition, of what a partial calls."""
    meant = definition(module, node)
    found = {module.code(node), module.code(meant)}
    if isinstance(meant, cst.Call) and meant.args and dotted(meant.func).rsplit(".", 1)[-1] == "partial":
        found |= spellings(module, meant.args[0].value)
    return found


def method_called(module: Module, call: cst.Call) -> tuple[str, str]:
    """What a call's method belongs to, as text, and the method's name, also when it was kept in a variable."""
    meant = definition(module, call.func)
    return (module.code(meant.value), meant.attr.value) if isinstance(meant, cst.Attribute) else ("", "")


def _given(scope: cst.CSTNode, name: str) -> cst.BaseExpression | None:
    """What the only binding of a name in a scope assigns; None when there are several, or it is no assignment."""
    body: cst.CSTNode = scope.body if isinstance(scope, cst.FunctionDef) else scope
    if list(bound_names(body)).count(name) != 1:
        return None
    for node in _within(body):
        if isinstance(node, cst.Assign) and len(node.targets) == 1:
            target = node.targets[0].target
            if isinstance(target, cst.Name) and target.value == name:
                return node.value
    return None


def _within(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in parts(node):
        if not isinstance(child, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            yield from _within(child)
