"""Functions that nothing in a program calls, as far as names tell."""

from __future__ import annotations

import ast

from gclint.ir.syntax import FUNCTIONS, Module, dotted, nodes
from gclint.run.run import Run


def is_named_nowhere(function: ast.AST, module: Module, run: Run) -> bool:
    """Whether no module of a program names a function, nor takes what no text spells out where it stands; not one that
    a decorator, Python itself or a class of a library may call.
    """
    if not isinstance(function, FUNCTIONS) or function.decorator_list or _is_special(function.name):
        return False
    owner = module.parents.get(function)
    if isinstance(owner, ast.ClassDef) and (
        owner.decorator_list or any(dotted(each) != "object" for each in owner.bases)
    ):
        return False
    named = any(_names(node, function.name) for each in run.modules_with(function.name) for node in nodes(each.tree))
    return not named and not any(_looks_up(node) for node in nodes(module.tree))


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _names(node: ast.AST, name: str) -> bool:
    """Whether something reads a name, an attribute of that name or the name as a text."""
    spelled = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "value", None)
    imported = node.name if isinstance(node, ast.alias) else None
    return name in (spelled, imported)


def _looks_up(node: ast.AST) -> bool:
    """Whether something is looked up under a name that is computed."""
    return (
        isinstance(node, ast.Call)
        and dotted(node.func) == "getattr"
        and len(node.args) > 1
        and not isinstance(node.args[1], ast.Constant)
    )
