"""Setters: the flags that whoever uses a class may set on its objects, through a method that keeps what it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..ir.syntax import FUNCTIONS, FunctionDef, dotted, nodes, parameters
from .values import Class, Function, Object, of

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


def forget_what_it_sets(it: Interpreter, method: Function) -> None:
    """Forget what the flags are that a method which is not walked may set on its own object, and on those of its class
    which that holds: those that its text names, all where it goes by their dict or by names that it works out.
    """
    if not isinstance(method.receiver, Object) or not isinstance(method.node, FUNCTIONS):
        return
    named = method.module.once(_set_by, method.node)
    for item in [method.receiver, *_held_alike(method.receiver)]:
        for name, value in item.attributes.items():
            if (named is None or name in named) and isinstance(value.constant(), bool):
                item.attributes[name] = of(it.unknown(f"self.{name}"))


def _held_alike(item: Object) -> Iterator[Object]:
    """The objects of an object's own class that it has as attributes or as entries."""
    for value in (*item.attributes.values(), *(item.entries or {}).values()):
        yield from (each for each in value.objects() if each.type == item.type and isinstance(item.type, Class))


def _set_by(method: FunctionDef) -> frozenset[str] | None:
    """The attributes that a method sets on its own object; None where they may be any."""
    own = next((item.arg for item, _ in parameters(method.args)), "")
    found = set[str]()
    for node in nodes(method):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own:
            if node.attr in ("__dict__", "__setattr__"):
                return None
            if not isinstance(node.ctx, ast.Load):
                found.add(node.attr)
        elif isinstance(node, ast.Call) and dotted(node.func) == "setattr":
            return None
    return frozenset(found)


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
