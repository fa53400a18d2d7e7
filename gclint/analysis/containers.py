"""Containers: what reading from a list, a tuple or a dict gives, by index, by key and by slice."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from . import conditions, environment
from .elements import ANY, any_of, chosen, is_counted, is_missing, mix, one_of, present, sliced, there
from .folding import folded
from .guards import ALWAYS, NEVER, Guard, complement, either
from .jumps import leave_under
from .values import MISSING, NOTHING, TRUE, Alternative, Const, External, Object, Value, of, replaced, union

if TYPE_CHECKING:
    from .interpreter import Interpreter

MOST_KEYS = 24


def subscript(it: Interpreter, base: Value, node: ast.Subscript) -> Value:
    """The value of `base[...]`."""
    if isinstance(node.slice, ast.Slice):
        ends = ends_of(it, node.slice)
        return union(_sliced(it, item, ends, node).under(guard) for guard, item in base.possible(it.guard))
    key = it.evaluate(node.slice)
    found = []
    for guard, item in base.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                found.append(_at_key(it, item, key, node).under(guard))
    return union(found)


def _sliced(it: Interpreter, item: Alternative, ends: Sequence[Value | None], node: ast.Subscript) -> Value:
    """`base[a:b:c]`: of a known sequence the part, of anything else the same again."""
    bounds = bounds_of(ends)
    if bounds is None:
        return _some_of(it, item, node)
    if isinstance(item, Const) and isinstance(item.value, str):
        return folded(it, lambda text: text[bounds], [of(item)]) or of(item)
    held = item.items if isinstance(item, Object) and is_counted(item) else None
    if not isinstance(item, Object) or held is None:
        return _some_of(it, item, node)
    made = it.new(item.kind, item.type, "", it.site(node))
    made.origins = item.origins
    made.state.update(item.state)
    taken = sliced(held, bounds)
    made.items = list(held) if taken is None else taken
    if taken is None:
        mix(made)
    return of(made)


def ends_of(it: Interpreter, node: ast.Slice) -> list[Value | None]:
    """The start, end and step of a slice; None for one that is not given."""
    return [None if end is None else it.evaluate(end) for end in (node.lower, node.upper, node.step)]


def bounds_of(ends: Sequence[Value | None]) -> slice | None:
    """The slice between these ends; None where one of them is not known."""
    literals = [None if end is None else end.only() for end in ends]
    if not all(each is None or isinstance(each, Const) for each in literals):
        return None
    bounds = [each.value if isinstance(each, Const) else None for each in literals]
    return slice(*bounds) if all(each is None or type(each) is int for each in bounds) else None


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
                parts.append(item_at(it, item, part, node).under(guard))
    return union(parts)


def item_at(it: Interpreter, item: Object, key: Alternative, node: ast.AST) -> Value:
    """What stands at one key of a container; what is not there raises where everything is known."""
    key = conditions.known_literal(it, key)
    if not isinstance(key, Const):
        return _at_unknown(it, item, key, node)
    if item.entries is not None and key.value in item.entries:
        held = item.entries[key.value]
        if "factory" not in item.state or not held.where(is_missing):
            return _or_raise(it, held, held.where(is_missing), "KeyError", node)
    if item.items is not None and not item.each and isinstance(key.value, int):
        return _at_index(it, item, int(key.value), node)
    if item.items and item.each:
        each = [there(value) for value in item.items]
        literal = any(isinstance(part, Const) for value in each for _, part in value)
        return one_of(each) if literal and "mixed" not in item.state else any_of(it, item, node)
    if item.entries is not None and is_counted(item) and _is_plain(item):
        if "factory" in item.state:
            return _made_for(it, item, key, node)
        return _or_raise(it, NOTHING, [ALWAYS], "KeyError", node)
    it.risks += 1
    return of(it.child(item, f"[{key.value!r}]", it.site(node)))


def _made_for(it: Interpreter, item: Object, key: Const, node: ast.AST) -> Value:
    """What a `defaultdict` makes for a key that is not there, and keeps."""
    from .calls import Call

    assert item.entries is not None
    made = it.call(item.state["factory"], Call(it, it.site(node), "__missing__"))
    item.entries[key.value] = present(it.guard - item.born - it.run.assumed, made)
    return made


def _at_unknown(it: Interpreter, item: Object, key: Alternative, node: ast.AST) -> Value:
    """What a key takes that nobody knows: each entry where it equals that key; elsewhere it raises."""
    it.risks += 1
    if "factory" in item.state:
        item.open = True
    keys: list[object] = list(range(len(item.items))) if item.items is not None else list(item.entries or {})
    if is_counted(item) and is_told(key, keys):
        assert isinstance(key, Object)
        parts, none = each_by_key(it, key, keys, lambda each: item_at(it, item, Const(each), node))
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


def look_up(it: Interpreter, item: Object, key: Value, default: Value | None, node: ast.AST) -> Value:
    """`item.get(key, default)`; without a default what is not there raises."""
    parts = []
    for guard, each in key.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                parts.append(_or_default(it, item, each, default, node).under(guard))
    return union(parts)


def _or_default(it: Interpreter, item: Object, key: Alternative, default: Value | None, node: ast.AST) -> Value:
    assert item.entries is not None
    key = conditions.known_literal(it, key)
    if isinstance(key, Const):
        held = item.entries.get(key.value)
        if held is None and item.open:
            return of(it.child(item, f"[{key.value!r}]", it.site(node)))
        held = of(MISSING) if held is None else held
        return (
            _or_raise(it, held, held.where(is_missing), "KeyError", node)
            if default is None
            else replaced(held, default)
        )
    keys = list(item.entries)
    if is_counted(item) and is_told(key, keys):
        assert isinstance(key, Object)
        parts, none = each_by_key(it, key, keys, lambda each: _or_default(it, item, Const(each), default, node))
        return union([*parts, (NOTHING if default is None else default).under(none)])
    return of(it.derived(it.site(node), [of(item), of(key)]))


def _or_raise(it: Interpreter, held: Value, gone: list[Guard], error: str, node: ast.AST) -> Value:
    """What is there; where it is gone this raises."""
    if gone:
        leave_under(it, either(gone), of(External(f"builtins.{error}")))
    return there(held) or (NOTHING if it.is_dead else of(it.unknown("", it.site(node))))
