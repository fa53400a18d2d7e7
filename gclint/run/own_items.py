"""`x[key]` of an object of one of the project's own classes: its `__getitem__` gives it, its `__setitem__` takes it.

https://docs.python.org/3/reference/datamodel.html#emulating-container-types
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .values import Alternative, Class, Function, Object, Value

if TYPE_CHECKING:
    from ..ir.syntax import Site
    from .interpreter import Interpreter


def method_for_items(item: Alternative, name: str) -> Value | None:
    """The method of a plain object's own class that Python calls for an item of it, bound to the object; None where
    there is none.
    """
    if not isinstance(item, Object) or item.kind != "instance" or not isinstance(item.type, Class):
        return None
    held = next(
        (base.names[name] for base in item.type.ancestry() if isinstance(base, Class) and name in base.names), None
    )
    if held is None or not all(isinstance(each, Function) for _, each in held):
        return None
    return Value((guard, each.bound(item)) for guard, each in held if isinstance(each, Function))


def called(it: Interpreter, method: Value, name: str, site: Site, given: Sequence[Value]) -> Value:
    """What such a method gives."""
    from .calls import Call

    return it.call(method, Call(it, site, name, list(given)))
