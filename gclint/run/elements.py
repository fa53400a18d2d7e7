"""Elements: what lists, tuples and dicts hold, one by one where that is known, else one that stands for all.

An element, or an entry, that is there under some guard only is `MISSING` elsewhere: its place in a list is then that
among those that are there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from .guards import ALWAYS, NEVER, Guard, choices, complement, conj, either, narrowed
from .values import MISSING, TRUE, Alternative, Const, Object, Value, const, of, union

if TYPE_CHECKING:
    from ..ir.syntax import Site
    from .interpreter import Interpreter

ANY = "[...]"
ONCE = "once"  # of what can be gone through once: a generator, what `map` gives, the parameters of a module
DRAINED = "drained"  # of a list: what it was made of, of which nothing was left
_SPENT = "spent"  # of such a thing: the guards under which all of it was taken
COUNTS = "counts"  # of a number: it is how many elements such a list has
MOST_UNSURE = 6
MOST_WAYS = 12
Chosen = tuple[Guard, int]
Way = tuple[Guard, list[Value]]
Arrangement = Callable[[list[Value]], "list[Value] | None"]


AMONG_OTHERS = "among others"
"""The fact that has the known elements of something that may have more."""


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
    gone = value.missing()
    return complement(either(gone)) if gone else ALWAYS


def there(value: Value) -> Value:
    """The value less where it is missing."""
    return value if not value.missing() else Value([pair for pair in value if pair[1] is not MISSING])


def is_counted(item: Object) -> bool:
    """Whether all elements of a list, or all entries of a dict, are known, one by one."""
    return not item.each and not item.open and (item.items is not None or item.entries is not None)


def is_filled(item: Object) -> bool:
    """Whether something is a list that the program makes and fills, of which nobody knows how long it becomes."""
    node = item.site.node if item.site is not None else None
    return item.kind == "list" and isinstance(node, (ast.List, ast.ListComp)) and not is_counted(item)


def is_foreign(item: Object) -> bool:
    """Whether an object is a mapping of which not all keys are known, and which the code itself did not fill."""
    known_elements = item.items is not None and is_counted(item)
    return (item.entries is None or item.open) and "own_names" not in item.state and not known_elements


def origins_of(values: Iterable[Value]) -> frozenset[Object]:
    """What all of these were computed from."""
    return frozenset(origin for value in values for item in value.objects() for origin in item.origins)


def counts(item: Object) -> list[tuple[Guard, int]]:
    """How many elements there are, under which guards; of an object that `is_counted`. Nothing for too many ways."""
    held = item.items if item.items is not None else list((item.entries or {}).values())
    unsure = [guard for value in held if (guard := presence(value))]
    if len(unsure) > MOST_UNSURE:
        return []
    return [(guard, len(held) - len(unsure) + count) for guard, count in _numbered(unsure)[1]]


def places(items: Sequence[Value]) -> list[list[Chosen]]:
    """For each element under which guards it is the how-manieth of those that are there, from 0."""
    return _numbered([presence(value) for value in items])[0]


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


def ways(items: Sequence[Value], apart: bool = False) -> list[Way] | None:
    """The sequences that a list may be, each under the guard in which it is that one, what an element may be also told
    `apart`; None for too many.
    """
    found: list[Way] = [(ALWAYS, [])]
    for value in items:
        guard, here = presence(value), there(value)
        choices = [(held, Value([(ALWAYS, item)])) for held, item in here] if apart else [(guard, here)]
        after: list[Way] = []
        for held, each in found:
            after += [(both, [*each, part]) for way, part in choices if (both := conj(held, way)) is not None]
            if guard and (both := conj(held, complement(guard))) is not None:
                after.append((both, each))
        if len(after) > MOST_WAYS:
            return None
        found = after
    return found


def rearranged(items: Sequence[Value], arrange: Arrangement) -> list[tuple[Guard, list[Value], list[Value]]] | None:
    """Each sequence that a list may be, with what `arrange` makes of it; None where that is not known of one."""
    for apart in (False, True):
        found = [(guard, each, arrange(list(each))) for guard, each in ways(items, apart) or []]
        made = [(guard, each, after) for guard, each, after in found if after is not None]
        if made and len(made) == len(found):
            return made
    return None


def merged(found: Sequence[Way]) -> list[Value]:
    """The elements of a list that may be each of these sequences, of which one holds."""
    longest = max((len(each) for _, each in found), default=0)
    return [
        union((each[at] if at < len(each) else of(MISSING)).under(guard) for guard, each in found)
        for at in range(longest)
    ]


def sliced(items: Sequence[Value], bounds: slice) -> list[Value] | None:
    """A slice of a list; None where too many conditions tell what it is."""
    found = ways(items)
    return None if found is None else merged([(guard, each[bounds]) for guard, each in found])


def mix(item: Object) -> None:
    """Of a list nobody knows any more which element stands where, nor whether it is there."""
    item.items = [there(value) for value in item.items or []]
    item.each = True
    item.state["mixed"] = TRUE


def among_others(it: Interpreter, value: Value) -> list[tuple[Guard, Value]]:
    """The elements that are known of something that may have more, too many of them for one value to stand for."""
    item = value.only()
    held = item.state.get(AMONG_OTHERS) if isinstance(item, Object) else None
    return (rounds(it, held) if held is not None else None) or []


def element(it: Interpreter, value: Value, node: ast.AST) -> Value:
    """What iterating over a value gives: one value that stands for every element. What happens on the way to an
    element of one thing that it may be happens under the guard of that thing.
    """
    parts, before = [], it.guard
    possible = value.possible(before).alternatives
    for guard, item in possible:
        if isinstance(item, Object):
            it.guard = narrowed(before, guard)
            parts.append(_element_of(it, item, node).under(guard))
            it.guard = before if len(possible) > 1 else it.guard
        else:
            parts.append(of(it.unknown(it.module.code(node) + ANY, it.site(node))).under(guard))
    return union(parts) or of(it.unknown(ANY))


def _element_of(it: Interpreter, item: Object, node: ast.AST) -> Value:
    known = it.library.element(it, item, it.site(node))
    if known is not None:
        return known
    if item.items is not None:
        made = any_of(it, item, node)
        return made if made else of(it.child(item, ANY, it.site(node), each=True))
    filled = item.open and item.entries is not None and ANY in item.attributes
    if filled or (item.entries and not item.open):
        keys = [
            Value([(guard, Const(key)) for guard, held in entry if held is not MISSING])
            for key, entry in (item.entries or {}).items()
        ]
        return union([*keys, any_key(it, item, it.site(node))] if filled else keys)
    return of(it.child(item, ANY, it.site(node), each=True))


def any_key(it: Interpreter, item: Object, site: Site) -> Value:
    """A key of a dict of which not all are known: of one that the code filled itself it is a name of its own."""
    key = it.unknown("key", site)
    if not is_foreign(item):
        key.state["own_name"] = TRUE
    if "keys_of" in item.state:
        key.state["keys_of"] = item.state["keys_of"]
    return of(key)


def any_of(it: Interpreter, item: Object, node: ast.AST) -> Value:
    """Any element: of literals of which nobody tells any more which is where, something unknown."""
    made = union(there(value) for value in item.items or [])
    mixed = "mixed" in item.state and any(isinstance(part, Const) for _, part in made)
    return of(it.unknown(item.text, it.site(node))) if mixed else made


def once(made: Object) -> Object:
    """The same thing, which can be gone through once."""
    made.state[ONCE] = TRUE
    return made


def drain(it: Interpreter, value: Value, starts: Sequence[Guard] | None = None) -> None:
    """Go through something: nothing is left of it then if it can be gone through once. Where that may have broken off,
    `starts` has the guard under which each element was come to.
    """
    for guard, item in value.possible(it.guard):
        way = conj(it.guard, guard)
        if not isinstance(item, Object) or ONCE not in item.state or way is None or it.vague != item.vague:
            continue
        if starts is None:
            item.state[_SPENT] = Value([(either((spent(item), way - item.born - it.run.assumed)), Const(True))])
        elif is_counted(item) and item.items is not None and item is value.only() and len(starts) <= len(item.items):
            for at, start in enumerate(starts):
                taken = start - item.born - it.run.assumed
                item.items[at] = union([item.items[at].under(complement(taken)), Value([(taken, MISSING)])])
        elif is_counted(item):
            mix(item)


def drain_in_part(value: Value) -> None:
    """Go through something up to an element that nobody knows: what can be gone through once has any of the others."""
    for item in value.objects():
        if ONCE in item.state and is_counted(item):
            mix(item)


def is_drained(it: Interpreter, item: Object) -> bool:
    """Whether nothing is left of something that can be gone through once."""
    return _left(it, ALWAYS, item) == NEVER


def lasting(item: Object) -> dict[str, Value]:
    """What is known of something that can be gone through once, and of a list of it as well."""
    return {fact: value for fact, value in item.state.items() if fact not in (ONCE, _SPENT)}


def spent(item: Object) -> Guard:
    """The guard under which nothing is left of something that can be gone through once."""
    return either([guard for guard, _ in item.known(_SPENT)])


def _left(it: Interpreter, guard: Guard, item: Alternative) -> Guard:
    """The guard under which something is left of one thing that a value is under a guard."""
    if not isinstance(item, Object) or _SPENT not in item.state:
        return guard
    left = conj(guard, complement(spent(item)))
    return NEVER if left is None or conj(it.guard, left) is None else left


def rounds(it: Interpreter, value: Value) -> list[tuple[Guard, Value]] | None:
    """The elements one by one, each under the guard in which it is there; None where they are not known."""
    found: list[tuple[Guard, Value]] = []
    for way, item in value.possible(it.guard):
        guard = _left(it, way, item)
        if guard == NEVER:
            continue
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
    rest = it.new("list", "", "", it.site(node))
    taken = sliced(items, slice(index, index + 1 - count or None))
    rest.items = list(items) if taken is None else taken
    if taken is None:
        mix(rest)
    return [of(rest)]


def _fits(items: list[Value], count: int, star: int | None) -> bool:
    return len(items) == count if star is None else len(items) >= count - 1
