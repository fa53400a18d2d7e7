"""Setters: the flags that whoever uses a class may set on its objects, through a method that keeps what it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..ir.syntax import FUNCTIONS, FunctionDef, dotted, nodes, parameters
from .values import Class, Object, of

if TYPE_CHECKING:
    from ..ir.syntax import Module
    from .interpreter import Interpreter


def leave_open(it: Interpreter, objects: Iterable[Object]) -> None:
    """Forget what the flags of these objects are that a method of their file's classes sets to its argument: nobody is
    seen to use them, and whoever does may call it.
    """
    for item in objects:
        flags = [name for name, value in item.attributes.items() if isinstance(value.constant(), bool)]
        if not flags or not isinstance(item.type, Class):
            continue
        for name in _settable(item.type.module).intersection(flags):
            item.attributes[name] = of(it.unknown(f"self.{name}"))


def _settable(module: Module) -> frozenset[str]:
    if module not in _SETTABLE:
        classes = [line for line in module.tree.body if isinstance(line, ast.ClassDef)]
        _SETTABLE[module] = frozenset(
            name for owner in classes for method in _callable(owner) for name in _kept(method)
        )
    return _SETTABLE[module]


_SETTABLE: WeakKeyDictionary[Module, frozenset[str]] = WeakKeyDictionary()


def _callable(owner: ast.ClassDef) -> Iterator[FunctionDef]:
    """The methods that others may call. Of those with an underscore transformers calls `_set_gradient_checkpointing`,
    where the class says that it supports that (`gradient_checkpointing_enable` in transformers/modeling_utils.py).
    """
    supports = any(
        isinstance(part, ast.Assign)
        and dotted(part.targets[0]) == "supports_gradient_checkpointing"
        and isinstance(part.value, ast.Constant)
        and part.value.value is True
        for part in owner.body
    )
    for part in owner.body:
        if isinstance(part, FUNCTIONS) and (
            not part.name.startswith("_") or (supports and part.name == "_set_gradient_checkpointing")
        ):
            yield part


def _kept(method: FunctionDef) -> Iterator[str]:
    """The attributes of its parameters that a method sets to another parameter."""
    given = {item.arg for item, _ in parameters(method.args)}
    for node in nodes(method):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in given:
            kept = [target for target in node.targets if isinstance(target, ast.Attribute)]
            yield from (target.attr for target in kept if dotted(target.value) in given)
