"""Changes of containers: what is put in, taken out and taken over, each under the guard of the walk."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..ir.syntax import Site
from . import comparison, containers, environment
from .arithmetic import TENSORS
from .defaults import unsure
from .elements import (
    ANY,
    MOST_UNSURE,
    Arrangement,
    at,
    chosen,
    columns,
    drain,
    element,
    is_counted,
    is_foreign,
    merged,
    mix,
    origins_of,
    presence,
    present,
    rearranged,
    rounds,
    there,
)
from .events import ItemSet
from .guards import ALWAYS, Guard, complement, conj
from .own_items import called, method_for_items
from .pages import SPREAD, is_written
from .values import (
    ATTRIBUTES_OF,
    BY_TEXT,
    MISSING,
    NOTHING,
    TRUE,
    Alternative,
    Const,
    External,
    Object,
    Value,
    assigned,
    of,
    union,
)

if TYPE_CHECKING:
    from .calls import Call
    from .interpreter import Interpreter


MOST_ELEMENTS = 500
GROWS = "grows"
"""The fact that holds, for what gets elements in loops that are walked once, these loops."""
MERGED = "merged"
"""What was put, entry by entry, into a dict of a model's names."""


def assign_item(it: Interpreter, target: ast.Subscript, value: Value, place: ast.AST | None) -> None:
    """`base[key] = value`."""
    if isinstance(target.slice, ast.Slice):
        _assign_slice(it, it.evaluate(target.value), containers.ends_of(it, target.slice), value)
        return
    key = it.evaluate(target.slice)
    for guard, item in it.evaluate(target.value).possible(it.guard):
        with it.under(guard) as possible:
            if not possible:
                pass
            elif isinstance(item, External) and item.name == "os.environ":
                _put_in_environment(it, key, value, place or target)
            elif (own := method_for_items(item, "__setitem__")) is not None and isinstance(item, Object):
                called(it, own, "__setitem__", it.site(target), [key, value])
                it.emit(ItemSet(it.moment(target), item, key, value))
            elif isinstance(item, Object):
                if not isinstance(target.slice, ast.Constant):
                    for owner in item.known(ATTRIBUTES_OF).objects():
                        owner.state[BY_TEXT] = TRUE
                store(it, item, key, value, it.site(place or target))
                it.emit(ItemSet(it.moment(target), item, key, value))


def _put_in_environment(it: Interpreter, key: Value, value: Value, place: ast.AST) -> None:
    literal = key.only()
    if isinstance(literal, Const):
        environment.put(it, str(literal.value), value, place)
    else:
        environment.forget(it)


def _assign_slice(it: Interpreter, base: Value, ends: Sequence[Value | None], value: Value) -> None:
    """`base[a:b] = value`."""
    bounds, new = containers.bounds_of(ends), columns(it, value)

    def put(held: list[Value]) -> list[Value] | None:
        if bounds is None or bounds.step is not None or new is None:
            return None
        held[bounds] = new
        return held

    for guard, item in base.possible(it.guard):
        with it.under(guard) as possible:
            if possible and isinstance(item, Object) and item.items is not None:
                rearrange(it, item, put)
                if item.each:
                    item.items.append(element(it, value, it.module.tree))


def since(it: Interpreter, item: Object) -> Guard:
    """The guard of a change of something on the heap: what has to hold besides what held when it was made."""
    return it.guard - item.born - it.run.assumed


def store(it: Interpreter, item: Object, key: Value, value: Value, site: Site) -> None:
    """Put an entry into a dict, or an element into a list; parents are set for modules."""
    for guard, part in key or [(ALWAYS, MISSING)]:
        with it.under(guard) as possible:
            if possible:
                _store(it, item, part, value, site)
    if item.entries is not None and not any(_of_the_same(item, each) for each in key.objects()):
        item.state["filled"] = TRUE
    item.origins |= origins_of([value])
    if item.entries is None and item.items is None:
        _has_other_numbers(item)
    it.library.stored(it, item, value)


def _has_other_numbers(item: Object) -> None:
    """Of a tensor some numbers were replaced: what was known of all of them, or of a part, may not hold of these."""
    parts = (part for held in item.attributes.values() for part in held.objects() if part.parent is item)
    for each in (item, *parts):
        each.state.pop("numbers", None)


def _store(it: Interpreter, item: Object, key: Alternative, value: Value, site: Site) -> None:
    key = comparison.known_literal(it, key)
    if item.entries is not None:
        if isinstance(key, Const):
            old = containers.entry_of(it, item, key.value) or of(MISSING)
            _gone_from_keyed(it, item, key, ALWAYS)
            item.entries[key.value] = assigned(since(it, item), value, old)
            item.sites[str(key.value)] = site
        elif isinstance(key, Object) and _is_one_key(it, item, key):
            _store_somewhere(it, item, key, value)
        else:
            if not item.open:
                item.state["own_names"] = TRUE
            if isinstance(key, Object) and since(it, item):
                item.state["chosen_of"] = union([key.known("names_of"), key.known("keys_of")])
            item.attributes[ANY] = union([value, item.attributes.get(ANY, NOTHING)])
            item.open, item.keyed = True, None
    elif item.items is not None:
        if isinstance(key, Const) and isinstance(key.value, int) and not item.each:
            for guard, at in chosen(item.items, key.value):
                way = conj(since(it, item), guard)
                if way is not None:
                    item.items[at] = assigned(way, value, item.items[at])
        else:
            item.items = [union([*map(there, item.items), value])]
            item.each = True
    else:
        name = f"[{key.value!r}]" if isinstance(key, Const) else ANY
        item.attributes[name] = assigned(since(it, item), value, item.attributes.get(name))
        if isinstance(key, Object) and item.kind in TENSORS:
            item.made_of = [*item.made_of, of(key)]  # which of its numbers are replaced


def _store_somewhere(it: Interpreter, item: Object, key: Object, value: Value) -> None:
    """`d[key] = value` of an unknown key: the entry that it equals changes; it may be another one besides."""
    held = item.entries
    assert held is not None

    def put(each: object) -> Value:
        held[each] = assigned(since(it, item), value, held[each])
        return NOTHING

    _, none = containers.each_by_key(it, key, list(held), put)
    with it.under(none) as possible:
        if possible:
            before = item.keyed[1] if item.keyed is not None else of(MISSING)
            item.keyed = key, assigned(since(it, item), value, before)
            item.attributes[ANY] = union([value, item.attributes.get(ANY, NOTHING)])
            item.state["own_names"] = TRUE
            item.open = True


def _is_one_key(it: Interpreter, item: Object, key: Object) -> bool:
    """Whether a key that nobody knows is the same whenever it is met here, and the only such key of a dict."""
    alone = is_counted(item) or (item.keyed is not None and item.keyed[0] is key)
    few = len(item.entries or {}) <= containers.MOST_KEYS
    return alone and few and comparison.is_undecided(key) and not key.each and it.vague == item.vague


def _gone_from_keyed(it: Interpreter, item: Object, key: Const, guard: Guard) -> None:
    """Where the unknown key of a dict equals a literal, nothing is under it any more."""
    if item.keyed is not None and key.value not in (item.entries or {}):
        other, held = item.keyed
        ((same, _), _) = comparison.equality(it, other, key)
        way = conj(guard, same)
        if way is not None:
            item.keyed = other, assigned(way, of(MISSING), held)


def grows(it: Interpreter, item: Object) -> bool:
    """Whether something gets further elements in the rounds of a loop around."""
    return not it.run.facts.get(GROWS, {}).get(item, set()).isdisjoint(it.loops)


def add(it: Interpreter, item: Object, value: Value, first: bool = False) -> None:
    """One element more, at the end or at the start; in a loop that is walked once there may be any number of it."""
    if item.items is None:
        item.items = []
    guard = since(it, item)
    if len(item.items) >= MOST_ELEMENTS:
        mix(item)
        item.items = [union(item.items)]
    if it.vague > item.vague:
        item.each = True
        it.run.facts.setdefault(GROWS, {}).setdefault(item, set()).update(it.loops)
    elif guard and sum(bool(presence(each)) for each in item.items) >= MOST_UNSURE:
        mix(item)  # where which element stands takes too many conditions to tell
    item.items.insert(0 if first else len(item.items), value if item.each else present(guard, value))


def rearrange(it: Interpreter, item: Object, arrange: Arrangement) -> None:
    """Change a list as a whole: `arrange` makes of its elements those that it has then; None where nobody knows."""
    known = is_counted(item) and it.vague == item.vague
    found = rearranged(item.items or [], arrange) if known else None
    if found is None:
        mix(item)
        return
    guard = since(it, item)
    ways = [(conj(held, guard), after) for held, _, after in found]
    ways += [(conj(held, complement(guard)), before) for held, before, _ in found]
    item.items = merged([(way, each) for way, each in ways if way is not None])


def extend(it: Interpreter, item: Object, value: Value, node: ast.AST) -> None:
    """Several elements more."""
    more = rounds(it, value)
    if more is None:
        it.vague += 1
        add(it, item, element(it, value, node))
        item.each = True
        it.vague -= 1
    for guard, each in more or ():
        with it.under(guard) as possible:
            if possible:
                add(it, item, each)
    drain(it, value)


def take_out(it: Interpreter, item: Object, key: Value, node: ast.AST) -> Value:
    """Take the element or entry of a key out; returns what it was."""
    parts = []
    for guard, part in key.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                parts.append(_taken_out(it, item, part, node).under(guard))
    return union(parts)


def _taken_out(it: Interpreter, item: Object, key: Alternative, node: ast.AST) -> Value:
    key = comparison.known_literal(it, key)
    held = containers.item_at(it, item, key, node)
    if not isinstance(key, Const) or it.is_dead:
        if item.items is not None:
            mix(item)
        return held
    if item.entries is not None:
        _drop(it, item, key)
    elif item.items is not None and not item.each and isinstance(key.value, int):
        for guard, at in sorted(chosen(item.items, key.value), key=lambda pair: -pair[1]):
            way = conj(since(it, item), guard)
            if way is not None:
                _remove(it, item.items, at, way)
    return held


def _remove(it: Interpreter, held: dict[Any, Value] | list[Value], place: object, guard: Guard) -> None:
    if guard:
        held[place] = assigned(guard, of(MISSING), held[place])  # type: ignore[call-overload]
    else:
        del held[place]  # type: ignore[arg-type]


def pop(it: Interpreter, item: Object, key: Value, default: Value | None, node: ast.AST) -> Value:
    """`item.pop(key, default)` of a dict; without a default what is not there raises."""
    value = containers.look_up(it, item, key, default, node)
    for guard, each in key.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                _drop(it, item, each)
    return value


def _drop(it: Interpreter, item: Object, key: Alternative) -> None:
    """The entry of a key is gone."""
    entries, key = item.entries or {}, comparison.known_literal(it, key)
    if isinstance(key, Const):
        if key.value in entries:
            _remove(it, entries, key.value, since(it, item))
        _gone_from_keyed(it, item, key, since(it, item))
    elif isinstance(key, Object) and is_counted(item) and containers.is_told(key, list(entries)):

        def drop(each: object) -> Value:
            _remove(it, entries, each, since(it, item))
            return NOTHING

        containers.each_by_key(it, key, list(entries), drop)


def clear(it: Interpreter, item: Object) -> None:
    """Take everything out."""
    guard = since(it, item)
    if item.items is not None:
        item.items = [assigned(guard, of(MISSING), value) for value in item.items] if guard else []
    if item.entries is not None:
        item.entries = (
            {key: assigned(guard, of(MISSING), value) for key, value in item.entries.items()} if guard else {}
        )


def merge(it: Interpreter, into: Object, value: Value) -> None:
    """`{**value}`, `into.update(value)`."""
    if not all(_of_the_same(into, item) for _, item in value):
        into.state["filled"] = TRUE
        if "keys_of" in into.state:
            into.state[MERGED] = union([into.known(MERGED), value])
    empty = not into.entries and not into.open
    for guard, item in value.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                _merge(it, into, item)
    whose = [item.attributes.get("of", NOTHING).under(guard) for guard, item in value if isinstance(item, Object)]
    if empty and all(whose) and len(whose) == len([*value]):
        into.attributes["of"] = union(whose)


def _merge(it: Interpreter, into: Object, item: Alternative) -> None:
    guard = since(it, into)
    _override(it, into, item, guard)
    if isinstance(item, Object) and item.entries is not None:
        assert into.entries is not None
        for key, entry in item.entries.items():
            _take_over(it, into, Const(key), entry, guard)
            if str(key) in item.sites:
                into.sites[str(key)] = item.sites[str(key)]
        if item.site is not None and is_written(item.site):
            into.sites[SPREAD] = item.site
        if item.open:
            into.open, into.keyed = True, None
    elif isinstance(item, Object) and (pairs := rounds(it, of(item))) is not None and _are_pairs(pairs):
        for held, pair in pairs:
            with it.under(held) as possible:
                if possible:
                    key, entry = at(it, pair, 0, 2, it.module.tree), at(it, pair, 1, 2, it.module.tree)
                    store(it, into, key, entry, item.site or it.site(it.module.tree))
        drain(it, of(item))
    elif not (isinstance(item, Const) and item.value is None):
        into.open, into.keyed = True, None
    if isinstance(item, Object):
        into.origins |= item.origins
        it.library.propagate([item], into)


def _are_pairs(pairs: list[tuple[Guard, Value]]) -> bool:
    """Whether all elements are sequences of two."""
    held = [item for _, pair in pairs for _, item in pair]
    return all(isinstance(item, Object) and item.items is not None and len(item.items) == 2 for item in held)


def _take_over(it: Interpreter, into: Object, key: Const, entry: Value, guard: Guard) -> None:
    """Of another dict's entry what is there replaces the own one."""
    assert into.entries is not None
    way = conj(guard, presence(entry))
    if way is not None:
        old = containers.entry_of(it, into, key.value) or of(MISSING)
        _gone_from_keyed(it, into, key, ALWAYS)
        into.entries[key.value] = assigned(way, there(entry), old)


def _of_the_same(one: Object, other: Alternative) -> bool:
    """Whether the keys of both are the names of the same model: nothing comes in from elsewhere."""
    names = one.known("keys_of").objects()
    return bool(names) and isinstance(other, Object) and other.known("keys_of").objects() == names


def _override(it: Interpreter, into: Object, item: Alternative, guard: Guard) -> None:
    """Of a dict that takes over a mapping of which not all keys are known, no entry is sure to stay."""
    if isinstance(item, Const) or (isinstance(item, Object) and not is_foreign(item)):
        if isinstance(item, Object) and "own_names" in item.state and not into.open:
            into.state["own_names"] = TRUE
        return
    into.state.pop("own_names", None)
    own, known = into.entries or {}, (item.entries if isinstance(item, Object) else None) or {}
    for key, held in own.items():
        if key not in known:
            other = it.child(item, f"[{key!r}]") if isinstance(item, Object) else it.unknown(str(key))
            own[key] = assigned(guard, unsure(str(key), held, other), held)


def spread(it: Interpreter, call: Call, item: Object, guard: Guard) -> None:
    """`f(**item)` under a guard: its entries become keyword arguments."""
    assert item.entries is not None
    for key, entry in item.entries.items():
        if not isinstance(key, str):
            continue
        old = call.keywords.get(key, of(MISSING))
        call.keywords[key] = assigned(guard, entry, old)
        if key in item.sites:
            call.places[key] = item.sites[key]
    holder = item.site if is_written(item.site) else item.sites.get(SPREAD)
    if holder is not None:
        call.places[SPREAD] = holder
    call.open = call.open or item.open
    call.foreign_mapping = call.foreign_mapping or is_foreign(item)


def spread_unknown(call: Call, item: Object, guard: Guard) -> None:
    """`f(**item)` of a mapping that nobody knows: what the program has put into it becomes keyword arguments, beside
    others.
    """
    call.open = call.foreign_mapping = True
    for name, entry in item.attributes.items():
        key = name[2:-2]
        put = name == f"[{key!r}]" and all(part.parent is not item for part in entry.objects())
        if put and key not in call.keywords:
            call.keywords[key] = assigned(guard, entry, of(MISSING))


def fill(it: Interpreter, made: Object, parts: Sequence[Value], node: ast.AST) -> Object:
    """Put the elements of several things into a new list or tuple, one behind the other."""
    made.items = []
    for part in parts:
        extend(it, made, part, node)
    made.origins |= origins_of(made.items)
    return made


def combined(it: Interpreter, sign: ast.operator, left: Value, right: Value, site: Site) -> Value | None:
    """`list + list`, `list * n`, `dict | dict`; None when it is none of these."""
    first, second = left.only(), right.only()
    if not isinstance(first, Object):
        return None
    kind = "tuple" if first.kind == "tuple" else "list"
    if isinstance(sign, ast.Mult) and first.items is not None:
        times = second.value if isinstance(second, Const) else None
        if isinstance(times, int) and is_counted(first) and times <= containers.MOST_KEYS:
            return of(fill(it, it.new(kind, "", "", site), [left] * times, site.node))
        many = fill(it, it.new(kind, "", "", site), [left], site.node)
        many.each = True
        return of(many)
    if not isinstance(second, Object):
        return None
    if isinstance(sign, ast.Add) and first.items is not None and second.items is not None:
        made = fill(it, it.new(kind, "", "", site), [left, right], site.node)
        made.origins |= first.origins | second.origins
        made.open = made.open or first.open or second.open
        return of(made)
    if isinstance(sign, ast.BitOr) and first.entries is not None and second.entries is not None:
        made = it.new("dict", "", "", site)
        made.entries = {}
        merge(it, made, left)
        merge(it, made, right)
        return of(made)
    return None
