"""Python's sequences: what its functions make of them, element by element where the elements are known."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Sequence
from itertools import product
from typing import Any

from ..run import changes, comparison, counters, elements
from ..run.arithmetic import is_tensor, names_compared
from ..run.calls import Call
from ..run.elements import Arrangement
from ..run.folding import folded
from ..run.guards import ALWAYS, NEVER, Guard, all_of, complement, either, narrowed
from ..run.iterators import gone_over
from ..run.jumps import leave_under
from ..run.loops import GONE_THROUGH
from ..run.pages import placed
from ..run.release import Release
from ..run.values import (
    NOTHING,
    TRUE,
    Alternative,
    Const,
    External,
    Object,
    Value,
    const,
    of,
    release_of,
    union,
)
from .copies import shallow_copy
from .registry import Framework

framework = Framework("builtin.sequences")

LONGEST = 64
MOST_WAYS = 8
Elements = list[tuple[Guard, Value]]
_TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
_PURE = ("abs", "round", "ord", "chr", "pow", "hex", "bin", "oct", "repr", "ascii", "min", "max", "sum")
_TEXT = [name for name in dir(str) if not name.startswith("_")]
_ASKED = [name for name in _TEXT if name.startswith("is") or name.endswith("swith")]
_NUMBERS = ("bit_length", "is_integer", "conjugate")


@framework.function("builtins.int", "builtins.float", "builtins.str", "builtins.bool")
def convert(call: Call) -> Value:
    """A literal converts, or raises; a world size stays one; anything else is unknown."""
    if not call.positional:
        return const(_TYPES[call.last]())
    given = call.positional[0]
    parts = []
    for guard, item in given.possible(call.it.guard):
        with call.it.under(guard) as possible:
            if possible:
                parts.append(_converted(call, given, item).under(guard))
    return union(parts)


def _converted(call: Call, given: Value, item: Alternative) -> Value:
    if isinstance(item, Const) and isinstance(item.value, Release):
        return const(Release(item.value, item.value.package)) if call.last == "str" else call.unknown()
    if isinstance(item, Const):
        made = folded(call.it, _TYPES[call.last], [of(item), *call.positional[1:]])
        return call.unknown() if made is None else placed(made, item.place)
    if call.last == "bool":
        return Value([(guard, Const(truth)) for guard, truth in comparison.truths(call.it, item)])
    if isinstance(item, Object) and item.kind in ("world_size", "local_rank"):
        return of(item)
    return of(call.it.derived(call.site, [given]))


@framework.function(*(f"builtins.{name}" for name in _PURE))
def computed(call: Call) -> Value:
    """What Python computes of literals, also of a list of them."""
    function = getattr(builtins, call.last)
    if len(call.positional) == 1 and not call.keywords and call.last in ("min", "max", "sum"):
        values = _literal_elements(call, call.positional[0])
        made = None if values is None else folded(call.it, lambda *each: function(each), values)
        if made is None and call.last == "sum":
            made = _summed(call)
        elements.drain(call.it, call.positional[0])
    else:
        made = folded(call.it, function, call.positional) if not call.keywords and not call.open else None
    return call.unknown() if made is None else made


def _summed(call: Call) -> Value:
    """Something unknown that was computed from the elements of what is summed, as far as they are known."""
    each = elements.rounds(call.it, call.positional[0])
    parts = [part for _, part in each] if each else [elements.element(call.it, call.positional[0], call.site.node)]
    return of(call.it.derived(call.site, [call.positional[0], *parts]))


@framework.function("builtins.divmod")
def divided(call: Call) -> Value:
    """The quotient and the rest."""
    made = call.make("tuple", "")
    parts = [folded(call.it, function, call.positional) for function in (operator.floordiv, operator.mod)]
    made.items = [part or call.unknown() for part in parts]
    return of(made)


@framework.method("list", "difference", "symmetric_difference")
@framework.method("unknown", "difference", "symmetric_difference")
def without_others(call: Call) -> Value | None:
    """What one set has and another has not."""
    assert call.receiver is not None
    names_compared(call.it, [call.receiver, *(item for value in call.positional for item in value.objects())])
    return None


def _literal_elements(call: Call, value: Value) -> list[Value] | None:
    """The elements of a list that all are there; None where one may not be."""
    each = elements.rounds(call.it, value)
    return None if each is None or any(guard for guard, _ in each) else [part for _, part in each]


@framework.function(*(f"builtins.str.{name}" for name in _TEXT))
@framework.function(*(f"builtins.{kind}.{name}" for kind in ("int", "float", "bool") for name in _NUMBERS))
def of_literal(call: Call) -> Value:
    """A method of a text or number, of literals."""
    _, kind, name = call.name.split(".")
    method = getattr(_TYPES[kind], name)
    inputs = call.positional
    if name == "join" and len(inputs) == 2:
        parts = _literal_elements(call, inputs[1])
        made = None if parts is None else folded(call.it, lambda text, *each: text.join(each), [inputs[0], *parts])
        elements.drain(call.it, inputs[1])
        return call.unknown() if made is None else made
    if name in ("split", "rsplit", "splitlines", "partition", "rpartition"):
        return _split(call, method)
    made = folded(call.it, method, inputs) if not call.keywords and not call.open else None
    return made or (asked_of_text(call) if name in _ASKED else call.unknown())


@framework.method("unknown", *_ASKED)
def asked_of_text(call: Call) -> Value:
    """A method of a text that nobody knows, which is true or false."""
    (asked,) = call.unknown().objects()
    return Value([(guard, Const(truth)) for guard, truth in comparison.truths(call.it, asked)])


def _split(call: Call, method: Any) -> Value:
    literals = [value.only() for value in call.positional]
    if call.keywords or not all(isinstance(each, Const) for each in literals):
        return call.unknown()
    try:
        parts = method(*(each.value for each in literals if isinstance(each, Const)))
    except (TypeError, ValueError):
        return call.unknown()
    made = call.make("list", "")
    made.items = [const(part) for part in parts]
    return of(made)


@framework.function("contextlib.suppress")
def make_suppress(call: Call) -> Value:
    """A manager that catches exceptions of these types."""
    made = call.make("suppress")
    made.items, made.open = list(call.positional), call.open
    return of(made)


@framework.function("builtins.range")
def make_range(call: Call) -> Value:
    """The numbers where they are known and few; else an index that is different in every round."""
    ways = list(product(*(value.possible(call.it.guard) for value in call.positional)))
    parts = [_range(call, way) for way in ways] if 0 < len(ways) <= MOST_WAYS else [None]
    known = [part for part in parts if part is not None]
    if known and len(known) == len(parts):
        return union(known)
    made = call.make("list", "range")
    made.state["start"], made.state["stop"] = _start(call), _stop(call)
    made.items, made.each = [of(call.it.unknown("i", call.site))], True
    index = made.items[0].objects()[0]
    index.each = True
    counters.indices(index, *([const(0), *call.positional] if len(call.positional) == 1 else call.positional))
    return of(made)


def _start(call: Call) -> Value:
    """Where a range of numbers begins."""
    return const(0) if len(call.positional) == 1 else call.get("", 0)


def _stop(call: Call) -> Value:
    """Where a range of numbers ends."""
    return call.get("", 0 if len(call.positional) == 1 else 1)


def _range(call: Call, way: Sequence[tuple[Guard, Alternative]]) -> Value | None:
    """The numbers between known ends, under the guard of these; None where one is not known."""
    ends = [item.value for _, item in way if isinstance(item, Const) and type(item.value) is int]
    if len(ends) < len(way) or (len(ends) == 3 and not ends[2]):
        return None
    numbers = range(*ends)
    if len(numbers) > LONGEST:
        return None
    made = call.make("list", "range")
    made.state["start"], made.state["stop"] = _start(call), _stop(call)
    made.items = [const(number) for number in numbers]
    guard = all_of(guard for guard, _ in way)
    return NOTHING if guard is None else of(made).under(guard)


@framework.function("builtins.enumerate")
def make_enumerate(call: Call) -> Value:
    """(index, element); nothing where the loop took each as it came."""
    node = call.site.node
    place = node.args[0] if isinstance(node, ast.Call) and node.args else node
    iterable = gone_over(call.it, call.get("iterable", 0), place)
    if not iterable:
        return NOTHING
    held = _elements_of(call, iterable)
    start = call.get("start", 1, const(0)).constant()
    if held is None or not isinstance(start, int):
        index = call.it.unknown("i", call.site)
        index.each = True
        counters.indices(index, call.get("start", 1, const(0)))
        made = _pairs(call, [of(index), elements.element(call.it, iterable, call.site.node)])
        elements.drain(call.it, iterable)
        return made
    elements.drain(call.it, iterable)
    places = [Value([(guard, Const(start + count)) for guard, count in ways]) for ways in elements.places(held)]
    return _listed(
        call, [(elements.presence(each), [at, elements.there(each)]) for at, each in zip(places, held, strict=True)]
    )


@framework.function("builtins.zip")
def make_zip(call: Call) -> Value:
    """(element of the first, element of the second, ...), as long as each has one."""
    taken = [item for value in call.positional for item in value.objects() if elements.ONCE in item.state]
    if len(set(taken)) < len(taken):
        return _in_turn(call)
    columns = [held for value in call.positional if (held := _elements_of(call, value)) is not None]
    if not columns or len(columns) < len(call.positional):
        made = _pairs(call, [elements.element(call.it, value, call.site.node) for value in call.positional])
        elements.drain(call.it, union(call.positional))
        return made
    rows: list[tuple[Guard, list[Value]]] = []
    for place in range(min(map(len, columns))):
        chosen = [elements.chosen(held, place) for held in columns]
        guard = all_of(either(way for way, _ in ways) for ways in chosen)
        if guard is not None:
            row = [
                union(elements.there(held[at]).under(way) for way, at in ways)
                for held, ways in zip(columns, chosen, strict=True)
            ]
            rows.append((guard, row))
    _drain_columns(call, columns)
    return _listed(call, rows)


def _in_turn(call: Call) -> Value:
    """The rows of one thing that can be gone through once and stands at several places: its elements in turn."""
    first, count = call.positional[0], len(call.positional)
    held = _elements_of(call, first) if all(value == first for value in call.positional) else None
    elements.drain(call.it, union(call.positional))
    if held is None or any(map(elements.presence, held)):
        return _pairs(call, [call.unknown() for _ in call.positional])
    return _listed(call, [(ALWAYS, held[at : at + count]) for at in range(0, len(held) - count + 1, count)])


def _drain_columns(call: Call, columns: Sequence[list[Value]]) -> None:
    """Take out of each thing as many elements as there are rows: of those before the first that ends, one more."""
    sure = not any(map(elements.presence, (value for held in columns for value in held)))
    rows = min(map(len, columns))
    ends = next(index for index, held in enumerate(columns) if len(held) == rows)
    for index, (value, held) in enumerate(zip(call.positional, columns, strict=True)):
        taken = rows + (index < ends)
        if taken >= len(held):
            elements.drain(call.it, value)
        elif sure:
            elements.drain(call.it, value, [call.it.guard] * taken)
        else:
            elements.drain_in_part(value)


def _elements_of(call: Call, value: Value) -> list[Value] | None:
    """The elements of what is iterated over; None where they are not known, or too many are not sure to be there."""
    each = elements.rounds(call.it, value)
    unsure = sum(bool(guard) for guard, _ in each or [])
    if each is None or len(each) > LONGEST or unsure > elements.MOST_UNSURE:
        return None
    return [elements.present(guard, part) for guard, part in each]


def _listed(call: Call, rows: Sequence[tuple[Guard, list[Value]]]) -> Value:
    made = elements.once(call.make("list", call.name))
    made.items, made.state[GONE_THROUGH] = [], union(call.positional)
    for guard, row in rows:
        pair = call.it.new("tuple", "", "", call.site)
        pair.items, pair.origins = row, elements.origins_of(row)
        made.items.append(elements.present(guard, of(pair)))
    made.origins = elements.origins_of(made.items)
    return of(made)


def _pairs(call: Call, parts: list[Value]) -> Value:
    pair = call.it.new("tuple", "", "", call.site)
    pair.items, pair.origins = parts, elements.origins_of(parts)
    made = elements.once(call.make("list", call.name))
    made.items, made.each, made.origins = [of(pair)], True, pair.origins
    return of(made)


@framework.function("builtins.list", "builtins.tuple", "builtins.set", "builtins.frozenset", "builtins.reversed")
@framework.function("builtins.sorted", "builtins.iter", "collections.deque")
def new_list(call: Call) -> Value:
    """A new list of the same elements, where they are known; else the same again."""
    if not call.positional:
        made = call.make("list", "builtins.list")
        made.items = []
        _keep_unordered(call, Const(None), made)
        return of(made)
    parts = []
    for guard, item in call.positional[0].possible(call.it.guard):
        if call.last == "iter" and isinstance(item, Object) and elements.ONCE in item.state:
            parts.append(of(item).under(guard))
            continue
        each = elements.rounds(call.it, of(item))
        made_of = item
        if each is not None:
            made_of = _new_list(call, item, each)
        elif isinstance(item, Object) and (item.entries is not None or (_is_gone_over(item) and call.last != "iter")):
            made_of = _of_any(call, item)
        elif isinstance(item, Object) and item.kind in ("parameters", "submodules", "buffers"):
            made_of = _kept(call, item)
        elif isinstance(item, Object) and call.last in _ORDERING:
            made_of = call.it.derived(call.site, [of(item)])
        elif isinstance(item, Object) and item.kind == "list" and call.last != "iter":
            made_of = shallow_copy(call, item)  # of an iterator whose elements nobody counts
            made_of.state["listed"] = TRUE
        if isinstance(made_of, Object):
            _keep_unordered(call, item, made_of)
        if isinstance(made_of, Object) and made_of is not item and call.last in ("iter", "reversed"):
            elements.once(made_of)
        parts.append(of(made_of).under(guard))
    if call.last != "iter":
        elements.drain(call.it, call.positional[0])
    return union(parts)


def _is_gone_over(item: Object) -> bool:
    """Whether a list of what it gives is nothing like itself."""
    return item.kind == "loader" or is_tensor(item)


def _keep_unordered(call: Call, item: Alternative, made: Object) -> None:
    """A set is `unordered`, and so is a list of one, but a sorted list."""
    if call.last in _SETS or (call.last != "sorted" and isinstance(item, Object) and "unordered" in item.state):
        made.state["unordered"] = TRUE


def _kept(call: Call, item: Object) -> Object:
    """A list of what an iterator over parts of a module gives, which can be gone through again."""
    made = call.it.new(item.kind, item.type, item.label, call.site)
    made.parent, made.origins = item.parent, item.origins
    made.state.update(elements.lasting(item), listed=TRUE)
    return made


def _of_any(call: Call, item: Object) -> Object:
    """A list of the keys of a dict of which not all are known, or of what a loader gives."""
    made = call.make("list", "")
    each = elements.element(call.it, of(item), call.site.node)
    made.items, made.each, made.origins = [each], True, item.origins
    if sum(isinstance(part, Const) for _, part in each) > 1:
        elements.mix(made)  # nobody tells which of them stands where
    return made


def _new_list(call: Call, item: Alternative, each: Elements) -> Object:
    made = call.make("tuple" if call.last == "tuple" else "list", "")
    if isinstance(item, Object):
        if item.kind == "parameters":
            made = call.it.new(item.kind, item.type, item.label, item.site)
            made.parent = item.parent
            made.state.update(elements.lasting(item), **({} if call.last == "iter" else {"listed": TRUE}))
        made.origins = item.origins
    made.items = [elements.present(guard, part) for guard, part in each]
    if call.last in _ARRANGED:
        _arrange(made, None if call.keywords else _ARRANGED[call.last])
    return made


def _arrange(made: Object, arrange: Arrangement | None) -> None:
    """Bring the elements of a list in an order; nobody knows it where there is none to bring them in."""
    found = elements.rearranged(made.items or [], arrange) if arrange is not None else None
    if found is None:
        elements.mix(made)
    else:
        made.items = elements.merged([(guard, after) for guard, _, after in found])


def in_order(held: list[Value]) -> list[Value] | None:
    """Literals in their order; None where one is none, or they cannot be compared."""
    literals = [value.only() for value in held]
    if not all(isinstance(each, Const) for each in literals):
        return None
    try:
        return [const(each) for each in sorted(each.value for each in literals if isinstance(each, Const))]
    except TypeError:
        return None


def _different(held: list[Value]) -> list[Value] | None:
    """Literals, each once, in an order that a set might have; None where one is no literal."""
    literals = dict.fromkeys(value.only() for value in held)
    found = [of(each) for each in literals if isinstance(each, Const)]
    return found if len(found) == len(literals) else None


_SETS = ("set", "frozenset")
_ORDERING = (*_SETS, "sorted")
_ARRANGED: dict[str, Arrangement] = {
    "reversed": lambda held: held[::-1],
    "sorted": in_order,
    "set": _different,
    "frozenset": _different,
}


@framework.function("tqdm:tqdm", "tqdm:trange")
def same_elements(call: Call) -> Value:
    """The same elements behind a progress bar."""
    if not call.positional:
        made = call.make("list", "builtins.list")
        made.items = []
        return of(made)
    return call.positional[0]


@framework.function("builtins.filter")
def make_filter(call: Call) -> Value:
    """The elements of which a function holds, or that are true; of those that are not known any may be there."""
    function, iterable = call.get("", 0), call.get("", 1)
    each = elements.rounds(call.it, iterable)
    if each is None or len(each) > LONGEST:
        return iterable
    made = elements.once(call.make("list", "filter"))
    made.items = []
    for guard, part in each:
        with call.it.under(guard) as possible:
            if possible:
                asked = part
                if function.only() != Const(None):
                    asked = call.it.call(function, Call(call.it, call.site, "filter", [part]))
                kept = narrowed(guard, _is_true(call, asked))
                if kept != NEVER:
                    made.items.append(elements.present(kept, part))
    elements.drain(call.it, iterable)
    return of(made)


def _is_true(call: Call, value: Value) -> Guard:
    """The guard under which a value is true."""
    ways = [
        narrowed(guard, decided)
        for guard, item in value
        for decided, truth in comparison.truths(call.it, item)
        if truth
    ]
    return either(ways)


@framework.function("builtins.map")
def make_map(call: Call) -> Value:
    """The function applied to each element; where they are not known, to one that stands for all."""
    if len(call.positional) < 2:
        return call.unknown()
    made = elements.once(call.make("list", "map"))
    each = elements.rounds(call.it, call.positional[1]) if len(call.positional) == 2 else None
    if each is not None and len(each) <= LONGEST:
        made.items = []
        for guard, part in each:
            with call.it.under(guard) as possible:
                if possible:
                    result = call.it.call(call.positional[0], Call(call.it, call.site, "map", [part]))
                    made.items.append(elements.present(guard, result))
        elements.drain(call.it, call.positional[1])
        return of(made)
    if any(release_of(item) for _, item in call.positional[1]):
        return call.unknown()  # the parts of a release, in their order: none stands for the others
    element = elements.element(call.it, call.positional[1], call.site.node)
    made.items = [call.it.call(call.positional[0], Call(call.it, call.site, "map", [element]))]
    made.each = True
    return of(made)


@framework.function("builtins.next")
def take_next(call: Call) -> Value:
    """The first element that is left, which is taken out, or the default; any of what is not known."""
    parts = []
    for guard, item in call.get("", 0).possible(call.it.guard):
        with call.it.under(guard) as possible:
            if possible:
                parts.append(_next(call, item).under(guard))
    return union(parts)


def _next(call: Call, item: Alternative) -> Value:
    if not isinstance(item, Object) or item.items is None or not elements.is_counted(item):
        return elements.element(call.it, of(item), call.site.node)
    held = [elements.present(guard, part) for guard, part in elements.rounds(call.it, of(item)) or ()]
    ways = elements.chosen(held, 0)
    first = union(elements.there(held[at]).under(guard) for guard, at in ways)
    empty = complement(either(guard for guard, _ in ways))
    changes.rearrange(call.it, item, lambda held: held[1:])
    if empty != NEVER and call.gives("", 1):
        return union([first, call.get("", 1).under(empty)])
    if empty != NEVER:
        leave_under(call.it, empty, of(External("builtins.StopIteration")))
    return first


@framework.function("builtins.any", "builtins.all")
def any_or_all(call: Call) -> Value:
    """Whether one element, or each, is true."""
    each = elements.rounds(call.it, call.get("", 0))
    elements.drain_in_part(call.get("", 0))  # the first that decides is the last to be come to
    if each is None:
        return call.unknown()
    wanted = call.last == "any"
    ways = [
        both
        for guard, part in each
        for held, item in part
        for decided, truth in comparison.truths(call.it, item)
        if truth == wanted and (both := all_of((guard, held, decided))) is not None
    ]
    found = either(ways)
    outcomes = ((found, wanted), (complement(found), not wanted))
    return Value([(guard, Const(truth)) for guard, truth in outcomes if guard != NEVER])


@framework.function("builtins.len")
def length(call: Call) -> Value:
    """The number of elements where it is known, under the guards in which they are there."""
    parts = []
    for guard, item in call.get("", 0).possible(call.it.guard):
        if isinstance(item, Object) and elements.is_counted(item):
            made = Value([(held, Const(count)) for held, count in elements.counts(item)]) or call.unknown()
        elif isinstance(item, Const):
            made = folded(call.it, len, [of(item)]) or NOTHING
        else:
            made = call.unknown()
            for count in made.objects():
                count.each = count.each or (isinstance(item, Object) and changes.grows(call.it, item))
                if isinstance(item, Object) and elements.is_filled(item):
                    count.state[elements.COUNTS] = TRUE
        parts.append(made.under(guard))
    return union(parts) if parts else call.unknown()


@framework.function(
    *(
        f"builtins.{name}"
        for name, kind in vars(builtins).items()
        if isinstance(kind, type) and issubclass(kind, BaseException)
    )
)
def make_exception(call: Call) -> Value:
    """An exception of Python's."""
    return of(call.make("exception", call.name))
