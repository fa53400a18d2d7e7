"""Containers: lists, tuples, dicts, and the elements of whatever is iterated or subscripted.

An element, or an entry, that is there under some guard only is `MISSING` elsewhere: its place in a list is then that
among those that are there.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import conditions, environment
from .defaults import unsure
from .events import ItemSet
from .folding import folded
from .guards import ALWAYS, NEVER, Guard, choices, complement, conj, either
from .jumps import leave_under
from .pages import SPREAD, is_written
from .syntax import Site
from .values import (
    MISSING,
    NOTHING,
    TRUE,
    Alternative,
    Const,
    External,
    Object,
    Value,
    assigned,
    const,
    of,
    replaced,
    union,
)

if TYPE_CHECKING:
    from .calls import Call
    from .interpreter import Interpreter

ANY = "[...]"
MOST_KEYS = 24
MOST_UNSURE = 6
Chosen = tuple[Guard, int]


# What is there


def one_of(values: Sequence[Value]) -> Value:
    """One of several, where no condition tells which: each under one of its own, which nobody can put in words."""
    if len(values) == 1:
        return values[0]
    return union(value.under(guard) for value, guard in zip(values, choices(len(values)), strict=True))


def present(guard: Guard, value: Value) -> Value:
    """A value that is there under a guard only."""
    return value if not guard else union([value.under(guard), Value([(complement(guard), MISSING)])])


def presence(value: Value) -> Guard:
    """The guard under which an element or entry is there."""
    gone = value.where(_is_missing)
    return complement(either(gone)) if gone else ALWAYS


def there(value: Value) -> Value:
    """The value less where it is missing."""
    return value if not value.where(_is_missing) else Value([pair for pair in value if pair[1] is not MISSING])


def _is_missing(item: Alternative) -> bool:
    return item is MISSING


def is_counted(item: Object) -> bool:
    """Whether all elements of a list, or all entries of a dict, are known, one by one."""
    return not item.each and not item.open and (item.items is not None or item.entries is not None)


def counts(item: Object) -> list[tuple[Guard, int]]:
    """How many elements there are, under which guards; of an object that `is_counted`. Nothing for too many ways."""
    held = item.items if item.items is not None else list((item.entries or {}).values())
    if sum(bool(presence(value)) for value in held) > MOST_UNSURE:
        return []
    return _numbered([presence(value) for value in held])[1]


def _numbered(presences: Sequence[Guard]) -> tuple[list[list[Chosen]], list[Chosen]]:
    """For each element under which guards it is the how-manieth of those that are there, and how many there are."""
    states: list[Chosen] = [(ALWAYS, 0)]
    places: list[list[Chosen]] = []
    for guard in presences:
        here, after = list[Chosen](), dict[int, list[Guard]]()
        for held, count in states:
            both = conj(held, guard)
            if both is not None:
                here.append((both, count))
                after.setdefault(count + 1, []).append(both)
            other = conj(held, complement(guard))
            if other is not None:
                after.setdefault(count, []).append(other)
        places.append(here)
        states = [(either(ways), count) for count, ways in after.items()]
    return places, states


def chosen(items: Sequence[Value], index: int) -> list[tuple[Guard, int]]:
    """Which of the elements an index takes, by their places, under which guards."""
    presences = [presence(value) for value in items]
    if not any(presences):
        place = index if index >= 0 else len(items) + index
        return [(ALWAYS, place)] if 0 <= place < len(items) else []
    backwards = index < 0
    places, _ = _numbered(presences[::-1] if backwards else presences)
    wanted = -index - 1 if backwards else index
    found = []
    for at, ways in enumerate(places):
        held = [guard for guard, count in ways if count == wanted]
        if held:
            found.append((either(held), len(items) - 1 - at if backwards else at))
    return found


# Elements


def element(it: Interpreter, value: Value, node: ast.AST) -> Value:
    """What iterating over a value gives: one value that stands for every element."""
    parts = []
    for guard, item in value.possible(it.guard):
        if isinstance(item, Object):
            parts.append(_element_of(it, item, node).under(guard))
        else:
            parts.append(of(it.unknown(it.module.code(node) + ANY, it.site(node))).under(guard))
    return union(parts) or of(it.unknown(ANY))


def _element_of(it: Interpreter, item: Object, node: ast.AST) -> Value:
    known = it.library.element(it, item, it.site(node))
    if known is not None:
        return known
    if item.items is not None:
        made = _any_of(it, item, node)
        return made if made else of(it.child(item, ANY, it.site(node), each=True))
    if item.entries and not item.open:
        return union(
            [
                Value([(guard, Const(key)) for guard, held in entry if held is not MISSING])
                for key, entry in item.entries.items()
            ]
        )
    return of(it.child(item, ANY, it.site(node), each=True))


def _any_of(it: Interpreter, item: Object, node: ast.AST) -> Value:
    """Any element: of literals of which nobody tells any more which is where, something unknown."""
    made = union(there(value) for value in item.items or [])
    mixed = "mixed" in item.state and any(isinstance(part, Const) for _, part in made)
    return of(it.unknown(item.text, it.site(node))) if mixed else made


def rounds(it: Interpreter, value: Value) -> list[tuple[Guard, Value]] | None:
    """The elements one by one, each under the guard in which it is there; None where they are not known."""
    found: list[tuple[Guard, Value]] = []
    for guard, item in value.possible(it.guard):
        if isinstance(item, Const) and isinstance(item.value, str):
            found += [(guard, const(letter)) for letter in item.value]
            continue
        if not isinstance(item, Object) or not is_counted(item):
            return None
        if item.items is not None:
            each = [(presence(part), there(part)) for part in item.items]
        else:
            each = [(presence(part), const(key)) for key, part in (item.entries or {}).items()]
        found += [(both, part) for held, part in each if (both := conj(guard, held)) is not None]
    return found if value else None


def columns(it: Interpreter, value: Value) -> list[Value] | None:
    """What stands at each place of what is as long in any case; None where it may be longer or shorter."""
    rows: list[list[Value]] = []
    for guard, item in value.possible(it.guard):
        each = rounds(it, of(item))
        if each is None or any(held - it.guard for held, _ in each):
            return None
        rows.append([part.under(guard) for _, part in each])
    same_length = len({len(row) for row in rows}) == 1
    return [union(column) for column in zip(*rows, strict=True)] if same_length else None


def at(it: Interpreter, value: Value, index: int, count: int, node: ast.AST, star: int | None = None) -> Value:
    """Element `index` of a value that is unpacked into `count` targets, of which `star` takes the rest as a list."""
    parts = []
    place = index if star is None or index < star else index - count
    for guard, item in value.possible(it.guard):
        if isinstance(item, Object) and item.items is not None and not item.each and _fits(item.items, count, star):
            parts += [part.under(guard) for part in _unpacked(it, item.items, index, place, count, node, star)]
        elif isinstance(item, Object):
            known = it.library.unpacked(it, item, index, it.site(node))
            parts.append((known or of(it.child(item, f"[{index}]", it.site(node)))).under(guard))
        else:
            parts.append(of(it.unknown(ANY, it.site(node))).under(guard))
    return union(parts)


def _unpacked(
    it: Interpreter, items: list[Value], index: int, place: int, count: int, node: ast.AST, star: int | None
) -> list[Value]:
    if index != star:
        return [there(items[at]).under(held) for held, at in chosen(items, place)]
    if any(map(presence, items)):
        return [of(it.unknown("", it.site(node)))]
    rest = it.new("list", "", "", it.site(node))
    rest.items = items[index : len(items) - (count - 1 - index)]
    return [of(rest)]


def _fits(items: list[Value], count: int, star: int | None) -> bool:
    return len(items) == count if star is None else len(items) >= count - 1


# Subscripts


def subscript(it: Interpreter, base: Value, node: ast.Subscript) -> Value:
    """The value of `base[...]`."""
    if isinstance(node.slice, ast.Slice):
        ends = (node.slice.lower, node.slice.upper, node.slice.step)
        bounds = [None if part is None else it.evaluate(part) for part in ends]
        return union(_sliced(it, item, bounds, node).under(guard) for guard, item in base.possible(it.guard))
    key = it.evaluate(node.slice)
    found = []
    for guard, item in base.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                found.append(_at_key(it, item, key, node).under(guard))
    return union(found)


def _sliced(it: Interpreter, item: Alternative, bounds: list[Value | None], node: ast.Subscript) -> Value:
    """`base[a:b:c]`: of a known sequence the part, of anything else the same again."""
    literals = [None if bound is None else bound.only() for bound in bounds]
    if not all(each is None or isinstance(each, Const) for each in literals):
        return _some_of(it, item, node)
    part = slice(*(each.value if isinstance(each, Const) else None for each in literals))
    if isinstance(item, Const) and isinstance(item.value, str):
        return folded(it, lambda text: text[part], [of(item)]) or of(item)
    held = item.items if isinstance(item, Object) and is_counted(item) else None
    if not isinstance(item, Object) or held is None or not all(_is_bound(each) for each in literals):
        return _some_of(it, item, node)
    made = it.new(item.kind, item.type, "", it.site(node))
    made.origins = item.origins
    made.state.update(item.state)
    if any(map(presence, held)):
        made.items = [there(value) for value in held]
        mix(made)
    else:
        made.items = held[part]
    return of(made)


def _is_bound(literal: Alternative | None) -> bool:
    return literal is None or (isinstance(literal, Const) and (literal.value is None or type(literal.value) is int))


def _some_of(it: Interpreter, item: Alternative, node: ast.Subscript) -> Value:
    """A part of a sequence of which nobody knows the elements: of those of a module it says that they are not all."""
    if not isinstance(item, Object) or item.kind not in ("parameters", "submodules"):
        return of(item)
    made = it.new(item.kind, item.type, item.label, it.site(node))
    made.parent, made.origins = item.parent, item.origins
    made.state.update(item.state, sliced=TRUE)
    return of(made)


def _at_key(it: Interpreter, item: Alternative, key: Value, node: ast.Subscript) -> Value:
    if isinstance(item, External) and item.name == "os.environ" and isinstance(literal := key.only(), Const):
        return environment.demand(it, str(literal.value), it.site(node))
    if isinstance(item, Const) and isinstance(item.value, str):
        return folded(it, operator.getitem, [of(item), key]) or of(it.unknown("", it.site(node)))
    if not isinstance(item, Object):
        it.risks += 1
        return of(it.unknown("", it.site(node)))
    parts = []
    for guard, part in key.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                parts.append(_item(it, item, part, node).under(guard))
    return union(parts)


def _item(it: Interpreter, item: Object, key: Alternative, node: ast.AST) -> Value:
    """What stands at one key; what is not there raises where everything is known."""
    if not isinstance(key, Const):
        return _at_unknown(it, item, key, node)
    if item.entries is not None and key.value in item.entries:
        held = item.entries[key.value]
        return _or_raise(it, held, held.where(_is_missing), "KeyError", node)
    if item.items is not None and not item.each and isinstance(key.value, int):
        return _at_index(it, item, int(key.value), node)
    if item.items and item.each:
        return _any_of(it, item, node)
    if item.entries is not None and is_counted(item) and _is_plain(item):
        return _or_raise(it, NOTHING, [ALWAYS], "KeyError", node)
    it.risks += 1
    return of(it.child(item, f"[{key.value!r}]", it.site(node)))


def _at_unknown(it: Interpreter, item: Object, key: Alternative, node: ast.AST) -> Value:
    """What a key takes that nobody knows: each entry where it equals that key; elsewhere it raises."""
    it.risks += 1
    keys: list[object] = list(range(len(item.items))) if item.items is not None else list(item.entries or {})
    if is_counted(item) and is_told(key, keys):
        assert isinstance(key, Object)
        parts, none = each_by_key(it, key, keys, lambda each: _item(it, item, Const(each), node))
        if item.items is None:
            leave_under(it, none, of(External("builtins.KeyError")))
        return union(parts)
    held = [there(value) for value in (item.items or (item.entries or {}).values())]
    if held and (item.items or not item.open):
        return one_of(held)
    return of(it.child(item, ANY, it.site(node), each=True))


def is_told(key: Alternative, keys: Sequence[object]) -> bool:
    """Whether conditions tell which of these literals an unknown key is: there are some, and not too many."""
    return isinstance(key, Object) and conditions.is_undecided(key) and 0 < len(keys) <= MOST_KEYS


def each_by_key(
    it: Interpreter, key: Object, keys: Sequence[object], what: Callable[[object], Value]
) -> tuple[list[Value], Guard]:
    """What there is where an unknown key is each of these literals, and the guard under which it is none of them."""
    parts, none = [], ALWAYS
    for each in keys:
        ((yes, _), (no, _)) = conditions.equality(it, key, Const(each))
        with it.under(none | yes) as possible:
            if possible:
                parts.append(what(each).under(yes))
        none |= no
    return parts, none


def _is_plain(item: Object) -> bool:
    """Whether it is a dict that the code itself makes: what a document or a model's names give may have more keys."""
    return item.type in ("", "builtins.dict") and not item.state.keys() & {"keys_of", "own_names"}


def _at_index(it: Interpreter, item: Object, index: int, node: ast.AST) -> Value:
    assert item.items is not None
    ways = chosen(item.items, index)
    if not ways and item.open:
        return of(it.child(item, f"[{index}]", it.site(node)))
    parts = [there(item.items[at]).under(guard) for guard, at in ways]
    if item.open:
        return union(parts)
    gone = complement(either(guard for guard, _ in ways))
    return _or_raise(it, union(parts), [gone] if gone != NEVER else [], "IndexError", node)


def look_up(
    it: Interpreter, item: Object, key: Value, default: Value | None, node: ast.AST, pops: bool = False
) -> Value:
    """`item.get(key, default)`, or `pop`; without a default what is not there raises."""
    parts = []
    for guard, part in key.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                parts.append(_or_default(it, item, part, default, node, pops).under(guard))
    return union(parts)


def _or_default(
    it: Interpreter, item: Object, key: Alternative, default: Value | None, node: ast.AST, pops: bool
) -> Value:
    assert item.entries is not None
    if isinstance(key, Const):
        held = item.entries.get(key.value)
        if held is None and item.open:
            return of(it.child(item, f"[{key.value!r}]", it.site(node)))
        if held is None:
            held = of(MISSING)
        elif pops:
            _remove(it, item.entries, key.value, since(it, item))
        if default is not None:
            return replaced(held, default)
        return _or_raise(it, held, held.where(_is_missing), "KeyError", node)
    keys = list(item.entries)
    if is_counted(item) and is_told(key, keys):
        assert isinstance(key, Object)
        parts, none = each_by_key(it, key, keys, lambda each: _or_default(it, item, Const(each), default, node, pops))
        return union([*parts, (NOTHING if default is None else default).under(none)])
    return of(it.derived(it.site(node), [of(item), of(key)]))


def _or_raise(it: Interpreter, held: Value, gone: list[Guard], error: str, node: ast.AST) -> Value:
    """What is there; where it is gone this raises."""
    if gone:
        leave_under(it, either(gone), of(External(f"builtins.{error}")))
    return there(held) or (NOTHING if it.is_dead else of(it.unknown("", it.site(node))))


# Changes


def assign_item(it: Interpreter, target: ast.Subscript, value: Value, place: ast.AST | None) -> None:
    """`base[key] = value`."""
    key = NOTHING if isinstance(target.slice, ast.Slice) else it.evaluate(target.slice)
    literal = key.only()
    for guard, item in it.evaluate(target.value).possible(it.guard):
        with it.under(guard) as possible:
            if not possible:
                continue
            if isinstance(item, External) and item.name == "os.environ":
                if isinstance(literal, Const):
                    environment.put(it, str(literal.value), value, place or target)
                else:
                    environment.forget(it)
            elif isinstance(item, Object):
                store(it, item, key, value, it.site(place or target))
                it.emit(ItemSet(it.moment(target), item, key, value))


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
    it.library.stored(it, item, value)


def _store(it: Interpreter, item: Object, key: Alternative, value: Value, site: Site) -> None:
    if item.entries is not None:
        if isinstance(key, Const):
            old = item.entries.get(key.value, of(MISSING))
            item.entries[key.value] = assigned(since(it, item), value, old)
            item.sites[str(key.value)] = site
        elif isinstance(key, Object) and is_counted(item) and is_told(key, list(item.entries)):
            _store_somewhere(it, item, key, value)
        else:
            if not item.open:
                item.state["own_names"] = TRUE
            item.open = True
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


def _store_somewhere(it: Interpreter, item: Object, key: Object, value: Value) -> None:
    """`d[key] = value` of an unknown key: the entry that it equals changes; it may be another one besides."""
    held = item.entries
    assert held is not None

    def put(each: object) -> Value:
        held[each] = assigned(since(it, item), value, held[each])
        return NOTHING

    each_by_key(it, key, list(held), put)
    item.attributes[ANY] = union([value, item.attributes.get(ANY, NOTHING)])
    item.state["own_names"] = TRUE
    item.open = True


def add(it: Interpreter, item: Object, value: Value, first: bool = False) -> None:
    """One element more, at the end or at the start; in a loop that is walked once there may be any number of it."""
    if item.items is None:
        item.items = []
    if it.vague > item.vague or item.each:
        item.each = True
        item.items.append(value)
        return
    guard = since(it, item)
    if guard and sum(bool(presence(each)) for each in item.items) >= MOST_UNSURE:
        mix(item)  # where which element stands takes too many conditions to tell
    item.items.insert(0 if first else len(item.items), present(guard, value))


def mix(item: Object) -> None:
    """Of a list nobody knows any more which element stands where, nor whether it is there."""
    item.each = True
    item.state["mixed"] = TRUE


def extend(it: Interpreter, item: Object, value: Value, node: ast.AST) -> None:
    """Several elements more."""
    more = rounds(it, value)
    if more is None:
        it.vague += 1
        add(it, item, element(it, value, node))
        item.each = True
        it.vague -= 1
        return
    for guard, each in more:
        with it.under(guard) as possible:
            if possible:
                add(it, item, each)


def take_out(it: Interpreter, item: Object, key: Value, node: ast.AST) -> Value:
    """Take the element or entry of a key out; returns what it was."""
    parts = []
    for guard, part in key.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                parts.append(_taken_out(it, item, part, node).under(guard))
    return union(parts)


def _taken_out(it: Interpreter, item: Object, key: Alternative, node: ast.AST) -> Value:
    held = _item(it, item, key, node)
    if not isinstance(key, Const) or it.is_dead:
        if item.items is not None:
            mix(item)
        return held
    if item.entries is not None and key.value in item.entries:
        _remove(it, item.entries, key.value, since(it, item))
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
    empty = not into.entries and not into.open
    for guard, item in value.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                _merge(it, into, item, empty and not guard)


def _merge(it: Interpreter, into: Object, item: Alternative, whole: bool) -> None:
    guard = since(it, into)
    _override(it, into, item, guard)
    if isinstance(item, Object) and item.entries is not None:
        assert into.entries is not None
        for key, entry in item.entries.items():
            _take_over(into, key, entry, guard)
            if str(key) in item.sites:
                into.sites[str(key)] = item.sites[str(key)]
        if item.site is not None and is_written(item.site):
            into.sites[SPREAD] = item.site
        into.open = into.open or item.open
        if whole and "of" in item.attributes:
            into.attributes["of"] = item.attributes["of"]
    elif isinstance(item, Object) and (pairs := rounds(it, of(item))) is not None and _are_pairs(pairs):
        for held, pair in pairs:
            with it.under(held) as possible:
                if possible:
                    key, entry = at(it, pair, 0, 2, it.module.tree), at(it, pair, 1, 2, it.module.tree)
                    store(it, into, key, entry, item.site or it.site(it.module.tree))
    elif not (isinstance(item, Const) and item.value is None):
        into.open = True
    if isinstance(item, Object):
        into.origins |= item.origins
        it.library.propagate([item], into)


def _are_pairs(pairs: list[tuple[Guard, Value]]) -> bool:
    """Whether all elements are sequences of two."""
    held = [item for _, pair in pairs for _, item in pair]
    return all(isinstance(item, Object) and item.items is not None and len(item.items) == 2 for item in held)


def _take_over(into: Object, key: object, entry: Value, guard: Guard) -> None:
    """Of another dict's entry what is there replaces the own one."""
    assert into.entries is not None
    old = into.entries.get(key, of(MISSING))
    way = conj(guard, presence(entry))
    if way is not None:
        into.entries[key] = assigned(way, there(entry), old)


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


def is_foreign(item: Object) -> bool:
    """Whether an object is a mapping of which not all keys are known, and which the code itself did not fill."""
    known_elements = item.items is not None and is_counted(item)
    return (item.entries is None or item.open) and "own_names" not in item.state and not known_elements


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


def joined(it: Interpreter, first: Object, others: Sequence[Value], site: Site) -> Object:
    """A new list with the elements of several."""
    made = it.new(first.kind, "", "", site)
    made.items, made.origins = [], first.origins
    for value in others:
        extend(it, made, value, site.node)
    return made


def combined(it: Interpreter, sign: ast.operator, left: Value, right: Value, site: Site) -> Value | None:
    """`list + list`, `list * n`, `dict | dict`; None when it is none of these."""
    first, second = left.only(), right.only()
    if not isinstance(first, Object):
        return None
    if isinstance(sign, ast.Mult) and first.items is not None:
        times = second.value if isinstance(second, Const) else None
        if isinstance(times, int) and is_counted(first) and times <= MOST_KEYS:
            return of(joined(it, first, [left] * times, site))
        return of(first)
    if not isinstance(second, Object):
        return None
    if isinstance(sign, ast.Add) and first.items is not None and second.items is not None:
        made = joined(it, first, [left, right], site)
        made.open = made.open or first.open or second.open
        return of(made)
    if isinstance(sign, ast.BitOr) and first.entries is not None and second.entries is not None:
        made = it.new("dict", "", "", site)
        made.entries = {}
        merge(it, made, left)
        merge(it, made, right)
        return of(made)
    return None
