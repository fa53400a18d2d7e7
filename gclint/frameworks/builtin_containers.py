"""Python's containers: the methods of lists and dicts, and the dict of an object's attributes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis import containers
from ..analysis.calls import Call
from ..analysis.defaults import unsure
from ..analysis.syntax import Site
from ..analysis.values import (
    MISSING,
    NONE,
    NOTHING,
    TRUE,
    Class,
    Const,
    Object,
    Value,
    const,
    of,
    union,
)
from .copies import shallow_copy
from .registry import Framework

if TYPE_CHECKING:
    from ..analysis.interpreter import Interpreter

framework = Framework("builtin.containers")


@framework.method("list", "append", "add", "insert")
def append(call: Call) -> Value:
    """One element more."""
    assert call.receiver is not None
    if call.receiver.items is None:
        call.receiver.items = []
    if call.it.loops:
        call.receiver.each = True
    call.receiver.items.append(call.positional[-1] if call.positional else NOTHING)
    call.it.library.stored(call.it, call.receiver, call.positional[-1] if call.positional else NOTHING)
    call.receiver.origins |= frozenset(
        origin for value in call.positional for item in value.objects() for origin in item.origins
    )
    return NONE


@framework.method("list", "extend")
def extend(call: Call) -> Value:
    """Several elements more."""
    assert call.receiver is not None and call.receiver.items is not None
    item = call.get("", 0).only()
    if isinstance(item, Object) and item.items is not None:
        call.receiver.items.extend(item.items)
        call.receiver.each = call.receiver.each or item.each
    else:
        call.receiver.items.append(containers.element(call.it, call.get("", 0), call.site.node))
        call.receiver.each = True
    return NONE


@framework.method("dict", "get", "pop")
def dict_get(call: Call) -> Value:
    """The entry of a key, or the default."""
    assert call.receiver is not None
    key, item = call.get("", 0).only(), call.receiver
    if call.last == "pop":
        item.state["taken_out"] = TRUE
    default = call.get("", 1, NONE)
    if not isinstance(key, Const) or item.entries is None:
        return call.unknown()
    held = item.entries.get(key.value)
    if held is None:
        if item.open:
            return of(call.it.child(item, f"[{key.value!r}]", call.site))
        return default
    if call.name.endswith("pop"):
        del item.entries[key.value]
    return union(default.under(guard) if part is MISSING else Value([(guard, part)]) for guard, part in held)


@framework.method("unknown", "pop")
def unknown_pop(call: Call) -> Value:
    """Something is taken out of what nobody knows."""
    assert call.receiver is not None
    call.receiver.state["taken_out"] = TRUE
    return call.foreign()


@framework.method("dict", "setdefault")
def set_default(call: Call) -> Value:
    """The entry of a key; the default is put in when there is none."""
    assert call.receiver is not None and call.receiver.entries is not None
    key = call.get("", 0).only()
    if not isinstance(key, Const):
        return call.unknown()
    if key.value not in call.receiver.entries and call.receiver.open:
        other = call.it.child(call.receiver, f"[{key.value!r}]", call.site)
        return unsure(str(key.value), call.get("", 1, NONE), other)
    if key.value not in call.receiver.entries:
        node = call.site.node
        given = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else node
        site = Site.at(call.site.module, given)
        containers.store(call.it, call.receiver, call.get("", 0), call.get("", 1, NONE), site)
    return call.receiver.entries[key.value]


@framework.method("dict", "update")
def dict_update(call: Call) -> Value:
    """update(other, k=v)."""
    assert call.receiver is not None and call.receiver.entries is not None
    for value in call.positional:
        with_guard = Value((call.it.guard - call.it.run.assumed | guard, item) for guard, item in value)
        containers.merge(call.it, call.receiver, with_guard)
    for name, value in call.keywords.items():
        containers.store(call.it, call.receiver, const(name), value, call.place(name))
    return NONE


@framework.method("dict", "items", "values", "keys")
def dict_view(call: Call) -> Value:
    """One pair, value or key that stands for all."""
    assert call.receiver is not None
    item = call.receiver
    made = call.make("list", call.name)
    made.each = True
    made.origins = item.origins
    call.it.library.propagate([item], made)
    key = call.it.unknown("key", call.site)
    if not containers.is_foreign(item):
        key.state["own_name"] = TRUE
    if "keys_of" in item.state:
        key.state["keys_of"] = item.state["keys_of"]
    keys = union([const(each) for each in item.entries or {}]) or of(key)
    values = union((item.entries or {}).values()) or item.attributes.get(containers.ANY)
    values = values or of(call.it.child(item, containers.ANY, call.site, True))
    if call.name.endswith("items"):
        pair = call.it.new("tuple", "", "", call.site)
        pair.items, pair.origins = [keys, values], item.origins
        made.items = [of(pair)]
    else:
        made.items = [values if call.name.endswith("values") else keys]
    return of(made)


@framework.method("dict", "copy")
@framework.method("list", "copy")
def container_copy(call: Call) -> Value:
    """A copy with the same contents."""
    assert call.receiver is not None
    return of(shallow_copy(call, call.receiver))


@framework.function("dataclasses.asdict", "builtins.vars")
def as_dict(call: Call) -> Value:
    """The attributes as a dict: a copy, or the object's own."""
    made = call.make("dict", "builtins.dict")
    made.entries, made.open = {}, True
    item = call.get("", 0).only()
    if isinstance(item, Object):
        made.entries = item.attributes if call.last == "vars" else dict(item.attributes)
        made.sites.update(item.sites)
        made.open = not isinstance(item.type, Class)
    return of(made)


@framework.attribute("*", "__dict__")
def own_dict(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value:
    """What `vars` gives."""
    return as_dict(Call(it, it.site(node), "builtins.vars", [of(item)]))
