"""Python's containers: the methods of lists and dicts, and the dict of an object's attributes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis import containers
from ..analysis.calls import Call
from ..analysis.defaults import unsure
from ..analysis.guards import ALWAYS, complement
from ..analysis.syntax import Site
from ..analysis.values import (
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


@framework.method("list", "append", "add")
def append(call: Call) -> Value:
    """One element more, at the end."""
    assert call.receiver is not None
    containers.add(call.it, call.receiver, call.positional[-1] if call.positional else NOTHING)
    return _taken_in(call)


@framework.method("list", "appendleft")
def append_left(call: Call) -> Value:
    """One element more, at the start."""
    assert call.receiver is not None
    containers.add(call.it, call.receiver, call.get("", 0), first=True)
    return _taken_in(call)


@framework.method("list", "insert")
def insert(call: Call) -> Value:
    """One element more, at a place."""
    assert call.receiver is not None
    place = call.get("", 0).constant()
    containers.add(call.it, call.receiver, call.get("", 1), first=place == 0)
    if place != 0:
        containers.mix(call.receiver)
    return _taken_in(call)


def _taken_in(call: Call) -> Value:
    """What a list is told of a new element: parents are set, and where it came from is kept."""
    assert call.receiver is not None
    call.it.library.stored(call.it, call.receiver, call.positional[-1] if call.positional else NOTHING)
    call.receiver.origins |= frozenset(
        origin for value in call.positional for item in value.objects() for origin in item.origins
    )
    return NONE


@framework.method("list", "extend", "update")
def extend(call: Call) -> Value:
    """Several elements more."""
    assert call.receiver is not None
    containers.extend(call.it, call.receiver, call.get("", 0), call.site.node)
    return NONE


@framework.method("list", "pop", "popleft")
def list_pop(call: Call) -> Value:
    """Take one element out."""
    assert call.receiver is not None
    key = const(0) if call.last == "popleft" else call.get("", 0, const(-1))
    return containers.take_out(call.it, call.receiver, key, call.site.node)


@framework.method("list", "remove", "sort", "reverse", "rotate", "discard")
def reordered(call: Call) -> Value:
    """The elements are the same, or fewer; nobody keeps track of where."""
    assert call.receiver is not None
    containers.mix(call.receiver)
    return NONE


@framework.method("list", "clear")
@framework.method("dict", "clear")
def cleared(call: Call) -> Value:
    """Nothing is left."""
    assert call.receiver is not None
    containers.clear(call.it, call.receiver)
    return NONE


@framework.method("dict", "get", "pop")
def dict_get(call: Call) -> Value:
    """The entry of a key, or the default; `pop` takes it out."""
    assert call.receiver is not None
    item = call.receiver
    pops = call.last == "pop"
    if pops:
        item.state["taken_out"] = TRUE
    if item.entries is None:
        return call.unknown()
    raises = pops and not call.gives("", 1)
    return containers.look_up(
        call.it, item, call.get("", 0), None if raises else call.get("", 1, NONE), call.site.node, pops
    )


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
    held = call.receiver.entries.get(key.value)
    if held is None and call.receiver.open:
        other = call.it.child(call.receiver, f"[{key.value!r}]", call.site)
        return unsure(str(key.value), call.get("", 1, NONE), other)
    gone = ALWAYS if held is None else complement(containers.presence(held))
    with call.it.under(gone) as possible:
        if possible:
            node = call.site.node
            given = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else node
            site = Site.at(call.site.module, given)
            containers.store(call.it, call.receiver, call.get("", 0), call.get("", 1, NONE), site)
    return containers.there(call.receiver.entries[key.value])


@framework.method("dict", "update")
def dict_update(call: Call) -> Value:
    """update(other, k=v)."""
    assert call.receiver is not None and call.receiver.entries is not None
    for value in call.positional:
        containers.merge(call.it, call.receiver, value)
    for name, value in call.keywords.items():
        containers.store(call.it, call.receiver, const(name), value, call.place(name))
    return NONE


@framework.method("dict", "items", "values", "keys")
def dict_view(call: Call) -> Value:
    """One pair, value or key that stands for all."""
    assert call.receiver is not None
    item = call.receiver
    made = call.make("list", call.name)
    if item.entries is not None and containers.is_counted(item):
        made.items = [_seen(call, key, held) for key, held in item.entries.items()]
        made.origins = item.origins
        return of(made)
    made.each = True
    made.origins = item.origins
    call.it.library.propagate([item], made)
    key = call.it.unknown("key", call.site)
    if not containers.is_foreign(item):
        key.state["own_name"] = TRUE
    if "keys_of" in item.state:
        key.state["keys_of"] = item.state["keys_of"]
    keys = union([const(each) for each in item.entries or {}]) or of(key)
    others = item.attributes.get(containers.ANY, NOTHING)
    values = union([*map(containers.there, (item.entries or {}).values()), others])
    values = values or of(call.it.child(item, containers.ANY, call.site, True))
    if call.name.endswith("items"):
        pair = call.it.new("tuple", "", "", call.site)
        pair.items, pair.origins = [keys, values], item.origins
        made.items = [of(pair)]
    else:
        made.items = [values if call.name.endswith("values") else keys]
    return of(made)


def _seen(call: Call, key: object, held: Value) -> Value:
    """One key, value or pair of a dict, as a view shows it."""
    value = containers.there(held)
    if call.last == "items":
        pair = call.it.new("tuple", "", "", call.site)
        pair.items = [const(key), value]
        value = of(pair)
    elif call.last == "keys":
        value = const(key)
    return containers.present(containers.presence(held), value)


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
