"""Setters: the flags that whoever uses a class may set on its objects, through a method that keeps what it is given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from .bodies import LaterBlock
from .syntax import dotted, parts
from .values import Class, Object, of

if TYPE_CHECKING:
    from .interpreter import Interpreter
    from .syntax import Module

_KEPT = re.compile(r"\.\w+\s*=[\s(\\]*(\w+)")


def leave_open(it: Interpreter, objects: Iterable[Object]) -> None:
    """Forget what the flags of these objects are that a method of their file's classes sets to its argument: nobody is
    seen to use them, and whoever does may call it.
    """
    settable: dict[Module, frozenset[str]] = {}
    for item in objects:
        flags = [name for name, value in item.attributes.items() if isinstance(value.constant(), bool)]
        if not flags or not isinstance(item.type, Class):
            continue
        if item.type.module not in settable:
            settable[item.type.module] = _settable(item.type.module)
        for name in settable[item.type.module].intersection(flags):
            item.attributes[name] = of(it.unknown(f"self.{name}"))


def _settable(module: Module) -> frozenset[str]:
    classes = [line for line in module.tree.body if isinstance(line, cst.ClassDef)]
    return frozenset(name for owner in classes for method in _callable(owner) for name in _kept(method))


def _callable(owner: cst.ClassDef) -> Iterator[cst.FunctionDef]:
    """The methods that others may call. Of those with an underscore transformers calls `_set_gradient_checkpointing`,
    where the class says that it supports that (`gradient_checkpointing_enable` in transformers/modeling_utils.py).
    """
    supports = any(
        isinstance(part, cst.Assign)
        and dotted(part.targets[0].target) == "supports_gradient_checkpointing"
        and dotted(part.value) == "True"
        for line in owner.body.body
        if isinstance(line, cst.SimpleStatementLine)
        for part in line.body
    )
    for part in owner.body.body:
        if isinstance(part, cst.FunctionDef):
            name = part.name.value
            if not name.startswith("_") or (supports and name == "_set_gradient_checkpointing"):
                yield part


def _kept(method: cst.FunctionDef) -> Iterator[str]:
    """The attributes of its parameters that a method sets to another parameter."""
    given = {item.name.value for item in (*method.params.posonly_params, *method.params.params)}
    given |= {item.name.value for item in method.params.kwonly_params}
    body = method.body
    if isinstance(body, LaterBlock) and not body.is_parsed and given.isdisjoint(_KEPT.findall(body.text)):
        return
    pending: list[cst.CSTNode] = [method.body]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Name) and node.value.value in given:
            kept = [item.target for item in node.targets if isinstance(item.target, cst.Attribute)]
            yield from (item.attr.value for item in kept if dotted(item.value) in given)
        pending.extend(parts(node))
