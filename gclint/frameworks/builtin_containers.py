"""Python's containers: the methods of lists and dicts, and the dict of an object's attributes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..ir.syntax import Site
from ..run import changes, containers, elements, module_names, names
from ..run.calls import Call
from ..run.defaults import unsure
from ..run.folding import folded
from ..run.guards import ALWAYS, complement
from ..run.renaming import is_put_back
from ..run.values import (
    ATTRIBUTES_OF,
    MAX_ALTERNATIVES,
    NONE,
    NOTHING,
    TRUE,
    Alternative,
    Class,
    Const,
    ModuleRef,
    Object,
    Value,
    const,
    of,
    union,
)
from .builtin_sequences import in_order
from .copies import shallow_copy
from .registry import Framework

if TYPE_CHECKING:
    from ..run.interpreter import Interpreter

framework = Framework("builtin.containers")


@framework.method("list", "append", "add")
def append(call: Call) -> Value:
    """One element more, at the end."""
    assert call.receiver is not None
    changes.add(call.it, call.receiver, call.positional[-1] if call.positional else NOTHING)
    return _taken_in(call)


@framework.method("list", "appendleft")
def append_left(call: Call) -> Value:
    """One element more, at the start."""
    assert call.receiver is not None
    changes.add(call.it, call.receiver, call.get("", 0), first=True)
    return _taken_in(call)


@framework.method("list", "insert")
def insert(call: Call) -> Value:
    """One element more, at a place."""
    assert call.receiver is not None
    place, value = call.get("", 0).constant(), call.get("", 1)

    def put(held: list[Value]) -> list[Value] | None:
        if not isinstance(place, int):
            return None
        held.insert(place, value)
        return held

    if place == 0:
        changes.add(call.it, call.receiver, value, first=True)
    else:
        changes.rearrange(call.it, call.receiver, put)
        if call.receiver.each and call.receiver.items is not None:
            call.receiver.items.append(value)
    return _taken_in(call)


def _taken_in(call: Call) -> Value:
    """What a list is told of a new element: parents are set, and where it came from is kept."""
    assert call.receiver is not None
    call.it.library.stored(call.it, call.receiver, call.positional[-1] if call.positional else NOTHING)
    call.receiver.origins |= elements.origins_of(call.positional)
    return NONE


@framework.method("list", "extend", "update")
def extend(call: Call) -> Value:
    """Several elements more."""
    assert call.receiver is not None
    changes.extend(call.it, call.receiver, call.get("", 0), call.site.node)
    return NONE


@framework.method("list", "pop", "popleft")
def list_pop(call: Call) -> Value:
    """Take one element out."""
    assert call.receiver is not None
    key = const(0) if call.last == "popleft" else call.get("", 0, const(-1))
    return changes.take_out(call.it, call.receiver, key, call.site.node)


@framework.method("list", "reverse")
def reverse(call: Call) -> Value:
    """The elements the other way round."""
    assert call.receiver is not None
    changes.rearrange(call.it, call.receiver, lambda held: held[::-1])
    return NONE


@framework.method("list", "sort")
def sort(call: Call) -> Value:
    """The elements in their order, where they are literals; else nobody keeps track of where they are."""
    assert call.receiver is not None
    call.receiver.state.pop("unordered", None)
    changes.rearrange(call.it, call.receiver, lambda held: None if call.keywords else in_order(held))
    return NONE


@framework.method("unknown", "sort")
def sort_unknown(call: Call) -> Value:
    """A list, or something else that has an order then."""
    assert call.receiver is not None
    call.receiver.state.pop("unordered", None)
    return call.foreign()


@framework.method("list", "remove", "discard")
def remove(call: Call) -> Value:
    """The first element that equals a literal is gone."""
    assert call.receiver is not None
    wanted = call.get("", 0).only()

    def take_out(held: list[Value]) -> list[Value] | None:
        literals = [value.only() for value in held]
        if not isinstance(wanted, Const) or not all(isinstance(each, Const) for each in literals):
            return None
        found = [each.value for each in literals if isinstance(each, Const)]
        if wanted.value in found:
            del held[found.index(wanted.value)]
        return held

    changes.rearrange(call.it, call.receiver, take_out)
    return NONE


@framework.method("list", "count", "index")
def count_or_index(call: Call) -> Value:
    """How often a literal is in a list of literals, or where first."""
    assert call.receiver is not None
    wanted, ways = call.get("", 0).only(), None
    if isinstance(wanted, Const) and elements.is_counted(call.receiver) and len(call.positional) == 1:
        ways = elements.ways(call.receiver.items or [], apart=True)
    parts = []
    for guard, way in ways or []:
        literals = [item.value for value in way if isinstance(item := value.only(), Const)]
        if not isinstance(wanted, Const) or len(literals) < len(way):
            return call.unknown()
        with call.it.under(guard) as possible:
            if possible:
                find = getattr(literals, call.last)
                parts.append((folded(call.it, find, [of(wanted)]) or NOTHING).under(guard))
    return union(parts) if ways is not None else call.unknown()


@framework.method("list", "rotate")
def rotated(call: Call) -> Value:
    """The elements are the same; nobody keeps track of where."""
    assert call.receiver is not None
    elements.mix(call.receiver)
    return NONE


@framework.method("list", "clear")
@framework.method("dict", "clear")
def cleared(call: Call) -> Value:
    """Nothing is left."""
    assert call.receiver is not None
    changes.clear(call.it, call.receiver)
    return NONE


@framework.method("dict", "get", "pop")
def dict_get(call: Call) -> Value:
    """The entry of a key, or the default; `pop` takes it out."""
    assert call.receiver is not None
    item = call.receiver
    pops = call.last == "pop"
    if pops and not is_put_back(call.site.module, call.site.node):
        item.state["taken_out"] = TRUE
    if item.entries is None:
        return call.unknown()
    if pops:
        default = call.get("", 1, NONE) if call.gives("", 1) else None
        return changes.pop(call.it, item, call.get("", 0), default, call.site.node)
    return containers.look_up(call.it, item, call.get("", 0), call.get("", 1, NONE), call.site.node)


@framework.method("unknown", "pop")
def unknown_pop(call: Call) -> Value:
    """Something is taken out of what nobody knows."""
    assert call.receiver is not None
    if not is_put_back(call.site.module, call.site.node):
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
    gone = ALWAYS if held is None else complement(elements.presence(held))
    with call.it.under(gone) as possible:
        if possible:
            node = call.site.node
            given = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else node
            site = Site.at(call.site.module, given)
            changes.store(call.it, call.receiver, call.get("", 0), call.get("", 1, NONE), site)
    return elements.there(call.receiver.entries[key.value])


@framework.method("dict", "__setitem__")
def set_entry(call: Call) -> Value:
    """What `d[key] = value` does."""
    assert call.receiver is not None
    changes.store(call.it, call.receiver, call.get("", 0), call.get("", 1), call.site)
    return NONE


@framework.method("dict", "__getitem__")
def get_entry(call: Call) -> Value:
    """What `d[key]` gives where it has the key."""
    assert call.receiver is not None
    if call.receiver.entries is None:
        return call.unknown()
    return containers.look_up(call.it, call.receiver, call.get("", 0), None, call.site.node)


@framework.method("dict", "update")
def dict_update(call: Call) -> Value:
    """update(other, k=v)."""
    assert call.receiver is not None and call.receiver.entries is not None
    for value in call.positional:
        changes.merge(call.it, call.receiver, value)
    for name, value in call.keywords.items():
        changes.store(call.it, call.receiver, const(name), value, call.place(name))
    return NONE


@framework.method("dict", "items", "values", "keys")
def dict_view(call: Call) -> Value:
    """One pair, value or key that stands for all."""
    assert call.receiver is not None
    item = call.receiver
    made = call.make("list", call.name)
    if item.entries is not None and elements.is_counted(item):
        made.items = [_seen(call, key, held) for key, held in item.entries.items()]
        made.origins = item.origins
        return of(made)
    made.each = True
    made.origins = item.origins
    call.it.library.propagate([item], made)
    keys = elements.one_of([*map(const, item.entries or {}), elements.any_key(call.it, item, call.site)])
    others = item.attributes.get(elements.ANY, NOTHING)
    known = [value for held in (item.entries or {}).values() if (value := elements.there(held))]
    values = elements.one_of([*known, others] if others else known) if known or others else NOTHING
    values = values or of(call.it.child(item, elements.ANY, call.site, True))
    if len(known) >= MAX_ALTERNATIVES:
        each = call.it.new("list", "", "", call.site)
        each.items = [_seen(call, key, held) for key, held in (item.entries or {}).items()]
        made.state[elements.AMONG_OTHERS] = of(each)
    if call.name.endswith("items"):
        pair = call.it.new("tuple", "", "", call.site)
        pair.items, pair.origins = [keys, values], item.origins
        made.items = [of(pair)]
    else:
        made.items = [values if call.name.endswith("values") else keys]
    return of(made)


def _seen(call: Call, key: object, held: Value) -> Value:
    """One key, value or pair of a dict, as a view shows it."""
    value = elements.there(held)
    if call.last == "items":
        pair = call.it.new("tuple", "", "", call.site)
        pair.items, pair.origins = [const(key), value], elements.origins_of([value])
        value = of(pair)
    elif call.last == "keys":
        value = const(key)
    return elements.present(elements.presence(held), value)


@framework.method("dict", "copy")
@framework.method("list", "copy")
def container_copy(call: Call) -> Value:
    """A copy with the same contents."""
    assert call.receiver is not None
    return of(shallow_copy(call, call.receiver))


@framework.function("collections.namedtuple")
def make_record_class(call: Call) -> Value:
    """A class of tuples whose elements have names."""
    fields = call.get("field_names", 1).only()
    names: list[object] = []
    if isinstance(fields, Const):
        names = list(str(fields.value).replace(",", " ").split())
    elif isinstance(fields, Object) and fields.items is not None and elements.is_counted(fields):
        names = [value.constant() for value in fields.items]
    if not names or not all(isinstance(name, str) for name in names):
        return call.unknown()
    made = call.make("record_class", call.name)
    made.entries = dict.fromkeys(names, NOTHING)
    return of(made)


@framework.calling("record_class")
def make_record(call: Call) -> Value:
    """A tuple whose elements have names."""
    assert call.receiver is not None and call.receiver.entries is not None
    made = call.make("tuple", call.name)
    made.items = [call.get(name, place) for place, name in enumerate(call.receiver.entries)]
    made.origins = elements.origins_of(made.items)
    made.attributes.update(zip(call.receiver.entries, made.items, strict=True))
    return of(made)


@framework.function("dataclasses.asdict", "builtins.vars")
def as_dict(call: Call) -> Value:
    """The attributes as a dict: a copy, or the object's own, or the names of a module."""
    given = call.get("", 0).only()
    names.read_by_text(call.it, call.get("", 0), call.site.node)
    if isinstance(given, ModuleRef):
        return module_names.as_dict(call.it, given.module, call.site.node)
    made = call.make("dict", "builtins.dict")
    made.entries, made.open = {}, True
    item = call.get("", 0).only()
    if isinstance(item, Object):
        item.escaped = item.escaped or call.last == "vars"  # what is put into that dict is an attribute
        made.entries = item.attributes if call.last == "vars" else _copied(call, item.attributes)
        made.sites.update(item.sites)
        made.state[ATTRIBUTES_OF] = of(item) if call.last == "vars" else NOTHING
        made.open = not isinstance(item.type, Class)
        if item.kind == "namespace":
            made.open = item.open
            made.state[containers.OF_OPTIONS] = TRUE
    return of(made)


def _copied(call: Call, attributes: dict[str, Value], depth: int = 3) -> dict[str, Value]:
    """The attributes of a record, of which those that are records are dicts too (dataclasses.py, `_asdict_inner`)."""

    def inner(item: Alternative) -> Alternative:
        if not isinstance(item, Object) or not isinstance(item.type, Class) or item.kind != "instance" or not depth:
            return item
        made = call.make("dict", "builtins.dict")
        made.entries, made.sites = _copied(call, item.attributes, depth - 1), dict(item.sites)
        return made

    return {name: Value((guard, inner(item)) for guard, item in value) for name, value in attributes.items()}


@framework.function("builtins.globals")
def names_around(call: Call) -> Value:
    """The names of the module in which it is called."""
    return module_names.as_dict(call.it, call.it.module, call.site.node)


@framework.attribute("*", "__dict__")
def own_dict(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value:
    """What `vars` gives."""
    return as_dict(Call(it, it.site(node), "builtins.vars", [of(item)]))
