"""Containers: what reading from a list, a tuple or a dict gives, by index, by key and by slice."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..ir.syntax import nodes
from . import comparison, environment, inference, module_names
from .arithmetic import is_tensor
from .elements import ANY, any_of, chosen, is_counted, mix, one_of, sliced, there
from .events import ScalarIndexed
from .folding import folded
from .guards import ALWAYS, NEVER, Guard, complement, conj, either
from .jumps import leave_under
from .own_items import called, method_for_items
from .scalars import is_scalar
from .values import (
    MISSING,
    NOTHING,
    TRUE,
    Alternative,
    Class,
    Const,
    External,
    ModuleRef,
    Object,
    Value,
    assigned,
    const,
    of,
    replaced,
    union,
)

if TYPE_CHECKING:
    from .interpreter import Interpreter

MOST_KEYS = 24
OF_OPTIONS = "options"
"""What is known of a dict that has the options that a parser gave."""


def subscript(it: Interpreter, base: Value, node: ast.Subscript) -> Value:
    """The value of `base[...]`."""
    if isinstance(node.slice, ast.Slice):
        ends = ends_of(it, node.slice)
        parts = []
        for guard, item in base.possible(it.guard):
            with it.under(guard) as possible:
                if possible:
                    left = [None if end is None else end.possible(it.guard) for end in ends]
                    parts.append(_sliced(it, item, left, node).under(guard))
        return union(parts)
    key = it.evaluate(node.slice)
    found = []
    for guard, item in base.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                found.append(_at_key(it, item, key, node).under(guard))
    return union(found)


def _sliced(it: Interpreter, item: Alternative, ends: Sequence[Value | None], node: ast.Subscript) -> Value:
    """`base[a:b:c]`: of a known sequence the part, of anything else the same again."""
    if isinstance(item, Const) and isinstance(item.value, str):
        given = [const(None) if end is None else end for end in ends]
        part = folded(it, lambda text, *bounds: text[slice(*bounds)], [of(item), *given])
        return part or of(it.derived(it.site(node), [of(item), *given]))
    bounds = bounds_of(ends)
    if bounds is None:
        return _some_of(it, item, node)
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
    """A part of a sequence of which nobody knows the elements: of those of a module it says that they are not all, and
    it may begin otherwise than the text of a template.
    """
    if isinstance(item, Object) and "templated" in item.state:
        return of(it.derived(it.site(node), [of(item)]))
    if not isinstance(item, Object) or item.kind not in ("parameters", "submodules", "buffers"):
        return of(item)
    made = it.new(item.kind, item.type, item.label, it.site(node))
    made.parent, made.origins = item.parent, item.origins
    made.state.update(item.state, sliced=TRUE)
    return of(made)


def _at_key(it: Interpreter, item: Alternative, key: Value, node: ast.Subscript) -> Value:
    if isinstance(item, External) and item.name == "os.environ" and isinstance(literal := key.only(), Const):
        return environment.demand(it, str(literal.value), it.site(node))
    if isinstance(item, External) and item.name == "sys.modules" and isinstance(literal := key.only(), Const):
        return module_names.loaded_as(it, literal, node)
    if isinstance(item, Const) and isinstance(item.value, str):
        return folded(it, operator.getitem, [of(item), key]) or of(it.derived(it.site(node), [of(item), key]))
    if not isinstance(item, Object):
        it.risks += 1
        return of(it.unknown("", it.site(node)))
    own = method_for_items(item, "__getitem__")
    if own is not None:
        return called(it, own, "__getitem__", it.site(node), [key])
    parts = []
    for guard, part in key.possible(it.guard):
        with it.under(guard) as possible:
            if possible:
                parts.append(item_at(it, item, part, node).under(guard))
    return union(parts)


def item_at(it: Interpreter, item: Object, key: Alternative, node: ast.AST) -> Value:
    """What stands at one key of a container; what is not there raises where everything is known."""
    key = comparison.known_literal(it, key)
    if not isinstance(key, Const):
        return _at_unknown(it, item, key, node)
    if item.entries is not None:
        held = entry_of(it, item, key.value, node)
        told = key.value in item.entries or item.keyed is not None or _is_plain(item)
        if held is not None and told and "factory" in item.state and held.missing():
            return _made_for(it, item, key, held, node)
        if held is not None and told:
            return _or_raise(it, held, held.missing(), "KeyError", node)
    if item.items is not None and not item.each and isinstance(key.value, int):
        return _at_index(it, item, int(key.value), node)
    if item.items and item.each:
        each = [there(value) for value in item.items]
        literal = any(isinstance(part, Const) for value in each for _, part in value)
        return one_of(each) if literal and "mixed" not in item.state else any_of(it, item, node)
    it.risks += 1
    if type(key.value) is int and is_scalar(item):
        it.emit(ScalarIndexed(it.moment(node), item))
    return of(it.child(item, f"[{key.value!r}]", it.site(node)))


def entry_of(it: Interpreter, item: Object, key: object, node: ast.AST | None = None) -> Value | None:
    """What a dict has under a literal key, `MISSING` where it has none; None where nobody knows. A `node` takes it."""
    assert item.entries is not None
    if OF_OPTIONS in item.state:
        it.run.option_is_read(str(key), it.site(node) if node is not None else None)
    if key in item.entries:
        return item.entries[key]
    if item.keyed is None:
        return None if item.open or item.each else of(MISSING)
    other, held = item.keyed
    ((same, _), (different, _)) = comparison.equality(it, other, Const(key))
    return union([held.under(same), of(MISSING).under(different)])


def _made_for(it: Interpreter, item: Object, key: Const, held: Value, node: ast.AST) -> Value:
    """What a `defaultdict` has, and makes and keeps where it has nothing."""
    from .calls import Call

    assert item.entries is not None
    with it.under(either(held.missing())) as possible:
        if possible:
            made = it.call(item.state["factory"], Call(it, it.site(node), "__missing__"))
            item.entries[key.value] = assigned(it.guard - item.born - it.run.assumed, made, held)
            held = replaced(held, made)
    return held


def _at_unknown(it: Interpreter, item: Object, key: Alternative, node: ast.AST) -> Value:
    """What a key takes that nobody knows: each entry where it equals that key; elsewhere it raises."""
    it.risks += 1
    if "factory" in item.state:
        item.open, item.keyed = True, None
    found = None
    if item.entries is not None:
        found = _by_unknown(it, item, key, lambda each: item_at(it, item, Const(each), node))
    if found is not None:
        parts, other, none = found
        leave_under(it, either([conj(none, gone) or NEVER for gone in other.missing()]), _KEY_ERROR)
        return union([*parts, there(other).under(none)])
    keys: list[object] = list(range(len(item.items or [])))
    if item.items is not None and is_counted(item) and is_told(key, keys):
        assert isinstance(key, Object)
        return union(each_by_key(it, key, keys, lambda each: item_at(it, item, Const(each), node))[0])
    held = [there(value) for value in (item.items or (item.entries or {}).values())]
    if held and (item.items or not item.open):
        return one_of(held)
    literal = _part_of_tensor(node)
    if inference.MADE in item.state and not literal:
        return of(it.derived(it.site(node), [of(item), of(key)]))  # chosen by a tensor it is a copy, unlike a row
    part = it.child(item, literal or ANY, it.site(node), each=True)
    module = item.state.get(module_names.NAMES_OF, NOTHING).only()
    if isinstance(module, ModuleRef):
        own, none = module_names.called(it, module.module, key, lambda name: item_at(it, item, Const(name), node))
        return union([*own, of(part).under(none)])
    if _are_places(key) and not any(key in value.objects() for value in part.made_of):
        part.made_of = [*part.made_of, of(key)]
    return of(part)


def _are_places(key: Alternative) -> bool:
    """Whether a key is a tensor, or has one in it as `x[:, kept]` does: what is in it decides what is taken."""
    held = [key, *(item for value in key.items or () for item in value.objects())] if isinstance(key, Object) else []
    return any(map(is_tensor, held))


def _part_of_tensor(node: ast.AST) -> str:
    """The name of a part that is cut out at literal bounds, as `x[:, 1:]`: other bounds give another part."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return ""
    plain = not any(isinstance(part, (ast.Name, ast.Call, ast.Attribute)) for part in nodes(node.slice))
    return (
        f"[{ast.unparse(node.slice)}]" if plain and any(isinstance(each, ast.Slice) for each in node.slice.elts) else ""
    )


DICTS = frozenset(("builtins.dict", "collections.OrderedDict", "collections.defaultdict"))
OF_KEYS = (
    *("__getitem__", "__setitem__", "__delitem__", "__missing__", "__contains__", "__iter__", "__len__", "__bool__"),
    *("__eq__", "__new__"),
)
"""Methods by which a class gives other keys than dict does, or other things under them."""
_KEY_ERROR = of(External("builtins.KeyError"))


def _by_unknown(
    it: Interpreter, item: Object, key: Alternative, what: Callable[[object], Value]
) -> tuple[list[Value], Value, Guard] | None:
    """What a dict has under a key that nobody knows: each entry where it equals that key, what it has where it equals
    none, and the guard under which it does not; None where that is not told.
    """
    keys = list(item.entries or {})
    if OF_OPTIONS in item.state:
        for each in keys:
            it.run.option_is_read(str(each))
    same = item.keyed is not None and item.keyed[0] is key
    if (
        not (is_counted(item) or same)
        or not isinstance(key, Object)
        or not is_told(key, [*keys, key][-max(len(keys), same) :])
    ):
        return None
    parts, none = each_by_key(it, key, keys, what)
    return parts, item.keyed[1] if same and item.keyed is not None else of(MISSING), none


def is_told(key: Alternative, keys: Sequence[object]) -> bool:
    """Whether conditions tell which of these literals an unknown key is: there are some, and not too many."""
    return isinstance(key, Object) and comparison.is_undecided(key) and 0 < len(keys) <= MOST_KEYS


def each_by_key(
    it: Interpreter, key: Object, keys: Sequence[object], what: Callable[[object], Value]
) -> tuple[list[Value], Guard]:
    """What there is where an unknown key is each of these literals, and the guard under which it is none of them."""
    parts, none = [], ALWAYS
    for each in keys:
        ((yes, _), (no, _)) = comparison.equality(it, key, Const(each))
        with it.under(none | yes) as possible:
            if possible:
                parts.append(what(each).under(yes))
        none |= no
    return parts, none


def _is_plain(item: Object) -> bool:
    """Whether it is a dict that the code itself makes, also of a class of its own: what a document or a model's names
    give may have more keys.
    """
    own = item.type in ("", "builtins.dict") or (isinstance(item.type, Class) and is_dict_of_its_own(item.type))
    return own and not item.state.keys() & {"keys_of", "own_names"}


def is_dict_of_its_own(owner: Class) -> bool:
    """Whether a class of the project derives from dict and leaves to it what its keys give and which they are."""
    bases = list(owner.ancestry())
    libraries = {base.name for base in bases if isinstance(base, External)} - {"builtins.object"}
    changed = any(name in base.names for base in bases if isinstance(base, Class) for name in OF_KEYS)
    return bool(libraries) and libraries <= DICTS and not changed


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
    key = comparison.known_literal(it, key)
    if isinstance(key, Const):
        held = entry_of(it, item, key.value, node)
        if held is None:
            return of(it.child(item, f"[{key.value!r}]", it.site(node)))
        if default is not None:
            return replaced(held, default)
        return _or_raise(it, held, held.missing(), "KeyError", node)
    found = _by_unknown(it, item, key, lambda each: _or_default(it, item, Const(each), default, node))
    if found is None:
        return of(it.derived(it.site(node), [of(item), of(key)]))
    parts, other, none = found
    return union([*parts, replaced(other, NOTHING if default is None else default).under(none)])


def _or_raise(it: Interpreter, held: Value, gone: list[Guard], error: str, node: ast.AST) -> Value:
    """What is there; where it is gone this raises."""
    if gone:
        leave_under(it, either(gone), of(External(f"builtins.{error}")))
    return there(held) or (NOTHING if it.is_dead else of(it.unknown("", it.site(node))))
