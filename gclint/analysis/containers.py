"""Containers: lists, tuples, dicts, and the elements of whatever is iterated or subscripted."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import environment
from .defaults import unsure
from .events import ItemSet
from .guards import Guard
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
    of,
    union,
)

if TYPE_CHECKING:
    from .calls import Call
    from .interpreter import Interpreter

ANY = "[...]"


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
        made = union(item.items)
        return made if made else of(it.child(item, ANY, it.site(node), each=True))
    if item.entries and not item.open:
        return union(
            [
                Value([(guard, Const(key)) for guard, held in entry if held is not MISSING])
                for key, entry in item.entries.items()
            ]
        )
    return of(it.child(item, ANY, it.site(node), each=True))


def at(it: Interpreter, value: Value, index: int, count: int, node: ast.AST, star: int | None = None) -> Value:
    """Element `index` of a value that is unpacked into `count` targets, of which `star` takes the rest."""
    parts = []
    place = index if star is None or index < star else index - count
    for guard, item in value.possible(it.guard):
        if isinstance(item, Object) and item.items is not None and not item.each and _fits(item.items, count, star):
            parts.append(item.items[place].under(guard))
        elif isinstance(item, Object):
            known = it.library.unpacked(it, item, index, it.site(node))
            parts.append((known or of(it.child(item, f"[{index}]", it.site(node)))).under(guard))
        else:
            parts.append(of(it.unknown(ANY, it.site(node))).under(guard))
    return union(parts)


def _fits(items: list[Value], count: int, star: int | None) -> bool:
    return len(items) == count if star is None else len(items) >= count - 1


def subscript(it: Interpreter, base: Value, node: ast.Subscript) -> Value:
    """The value of `base[...]`."""
    index = node.slice
    if isinstance(index, ast.Slice):
        return base
    if isinstance(index, ast.Tuple) and not any(item.entries is not None for item in base.objects()):
        for part in index.elts:
            if not isinstance(part, ast.Slice):
                it.evaluate(part)
        return base
    key = it.evaluate(index)
    return union(_at_key(it, item, key, node).under(guard) for guard, item in base.possible(it.guard))


def _at_key(it: Interpreter, item: object, key: Value, node: ast.Subscript) -> Value:
    literal = key.only()
    if isinstance(item, External) and item.name == "os.environ" and isinstance(literal, Const):
        return environment.demand(it, str(literal.value), it.site(node))
    if not isinstance(item, Object):
        return of(it.unknown("", it.site(node)))
    if isinstance(literal, Const):
        if item.entries is not None and literal.value in item.entries:
            return Value((guard, held) for guard, held in item.entries[literal.value] if held is not MISSING)
        if item.items and not item.each and _within(item.items, literal.value):
            chosen: Value = item.items[literal.value]
            return chosen
        if item.items and item.each:
            return union(item.items)
        return of(it.child(item, f"[{literal.value!r}]", it.site(node)))
    if item.items:
        return union(item.items)
    if item.entries and not item.open:
        return union(item.entries.values())
    return of(it.child(item, ANY, it.site(node), each=True))


def _within(items: list[Value], index: object) -> bool:
    return isinstance(index, int) and -len(items) <= index < len(items)


def assign_item(it: Interpreter, target: ast.Subscript, value: Value, place: ast.AST | None) -> None:
    """`base[key] = value`."""
    key = it.evaluate(target.slice) if not isinstance(target.slice, ast.Slice) else NOTHING
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


def store(it: Interpreter, item: Object, key: Value, value: Value, site: Site) -> None:
    """Put an entry into a dict, or an element into a list; parents are set for modules."""
    literal = key.only()
    if item.entries is not None:
        if isinstance(literal, Const):
            old = item.entries.get(literal.value, Value([(frozenset(), MISSING)]))
            item.entries[literal.value] = assigned(_guard(it, item), value, old)
            item.sites[str(literal.value)] = site
        else:
            if not item.open:
                item.state["own_names"] = TRUE
            item.open = True
        if not any(_of_the_same(item, each) for each in key.objects()):
            item.state["filled"] = TRUE
    elif item.items is not None:
        if isinstance(literal, Const) and isinstance(literal.value, int) and not item.each:
            if -len(item.items) <= literal.value < len(item.items):
                item.items[literal.value] = value
        else:
            item.items = [union([*item.items, value])]
            item.each = True
    else:
        name = f"[{literal.value!r}]" if isinstance(literal, Const) else ANY
        item.attributes[name] = assigned(_guard(it, item), value, item.attributes.get(name))
    it.library.stored(it, item, value)


def _guard(it: Interpreter, item: Object) -> Guard:
    return it.guard - it.run.assumed


def merge(it: Interpreter, into: Object, value: Value) -> None:
    """`{**value}`, `into.update(value)`."""
    if not all(_of_the_same(into, item) for _, item in value):
        into.state["filled"] = TRUE
    empty = not into.entries and not into.open
    for guard, item in value.possible(it.guard):
        _override(it, into, item, guard)
        if isinstance(item, Object) and item.entries is not None:
            assert into.entries is not None
            for key, entry in item.entries.items():
                old = into.entries.get(key, Value([(frozenset(), MISSING)]))
                present = Value((held, part) for held, part in entry if part is not MISSING)
                absent = [held for held, part in entry if part is MISSING]
                merged = (
                    assigned(guard, present, old)
                    if not absent
                    else union([present, *(old.under(held) for held in absent)])
                )
                into.entries[key] = merged
                if str(key) in item.sites:
                    into.sites[str(key)] = item.sites[str(key)]
            into.open = into.open or item.open
            if empty and not guard and "of" in item.attributes:
                into.attributes["of"] = item.attributes["of"]
        elif not (isinstance(item, Const) and item.value is None):
            into.open = True
        if isinstance(item, Object):
            into.origins |= item.origins
            it.library.propagate([item], into)


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
    return (item.entries is None or item.open) and "own_names" not in item.state


def spread(it: Interpreter, call: Call, item: Object, guard: Guard) -> None:
    """`f(**item)` under a guard: its entries become keyword arguments."""
    assert item.entries is not None
    for key, entry in item.entries.items():
        if not isinstance(key, str):
            continue
        old = call.keywords.get(key, Value([(frozenset(), MISSING)]))
        call.keywords[key] = assigned(guard, entry, old)
        if key in item.sites:
            call.places[key] = item.sites[key]
    call.open = call.open or item.open
    call.foreign_mapping = call.foreign_mapping or is_foreign(item)


def combined(it: Interpreter, node: ast.BinOp, left: Value, right: Value) -> Value | None:
    """`list + list`, `list * n`, `dict | dict`; None when it is none of these."""
    first, second = left.only(), right.only()
    if not isinstance(first, Object):
        return None
    if isinstance(node.op, ast.Mult) and first.items is not None:
        return of(first)
    if not isinstance(second, Object):
        return None
    if isinstance(node.op, ast.Add) and first.items is not None and second.items is not None:
        made = it.new(first.kind, "", "", it.site(node))
        made.items = [*first.items, *second.items]
        made.each, made.open = first.each or second.each, first.open or second.open
        return of(made)
    if isinstance(node.op, ast.BitOr) and first.entries is not None and second.entries is not None:
        made = it.new("dict", "", "", it.site(node))
        made.entries = {}
        merge(it, made, left)
        merge(it, made, right)
        return of(made)
    return None
