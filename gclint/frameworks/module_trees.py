"""Modules of which every part is known: their parameters one by one, by name, and which of them train.

The names are those that PyTorch gives (`torch_modules.OF_LAYERS`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..run import changes, comparison
from ..run.guards import ALWAYS, NEVER, Guard, complement, conj, either
from ..run.interpreter import Interpreter
from ..run.values import (
    FALSE,
    NONE,
    TRUE,
    Alternative,
    Class,
    Const,
    Object,
    Value,
    assigned,
    const,
    of,
    replaced,
    root,
    union,
)
from .registry import is_own_module
from .torch_modules import (
    BOTH,
    INSTANCE_NORMS,
    OF_LAYERS,
    PARAMETERLESS,
    RECURRENT,
    REPARAMETRISED,
    settings_of,
    trainable,
)

MOST_PARAMETERS = 200
OWN_PARAMETERS = "own parameters"
"""The fact that has the parameters of each layer that was asked for them."""


class Named(NamedTuple):
    """A module or parameter of a tree: its dotted name, and the guard under which it is there."""

    name: str
    item: Object
    guard: Guard


def modules_of(it: Interpreter, item: Object, prefix: str = "", around: tuple[Object, ...] = ()) -> list[Named] | None:
    """A module and all below it, in PyTorch's order, each once; None where something of it is not known."""
    below = children_of(it, item)
    if below is None:
        return None
    found, there = [Named(prefix, item, ALWAYS)], {item: [ALWAYS]}
    around = (*around, item)
    for child in below:
        if any(child.item is outer for outer in around):
            continue
        inner = modules_of(it, child.item, f"{prefix}.{child.name}" if prefix else child.name, around)
        if inner is None or len(found) + len(inner) > MOST_PARAMETERS:
            return None
        for each in inner:
            both = conj(child.guard, each.guard)
            if both is not None and not any(held <= both for held in there.get(each.item, ())):
                found.append(Named(each.name, each.item, both))
                there.setdefault(each.item, []).append(both)
    return found


def seen_below(item: Object, around: tuple[Object, ...] = ()) -> list[Named]:
    """The modules that the code is seen to put below a module, inner ones first, also where there may be more."""
    own = isinstance(item.type, Class) and item.kind == "module"
    values = [*(item.items or ()), *(item.attributes.values() if own else ())]
    found: dict[Object, Named] = {}
    around = (*around, item)
    for guard, part in [pair for value in values for pair in value]:
        if not isinstance(part, Object) or part in around or part.kind not in ("module", "layer", "modules"):
            continue
        for each in (*seen_below(part, around), Named("", part, ALWAYS)):
            both = conj(guard, each.guard)
            if both is not None and len(found) < MOST_PARAMETERS:
                found.setdefault(each.item, Named("", each.item, both))
    return list(found.values())


def surely_below(item: Object) -> Iterator[Object]:
    """A module and those below it that are there in any case, also where others are not known."""
    found: dict[Object, None] = {}
    waiting = [item]
    while waiting and len(found) < MOST_PARAMETERS:
        part = waiting.pop()
        if part in found or part.open or part.each or part.kind not in ("module", "layer", "modules"):
            continue
        found[part] = None
        own = isinstance(part.type, Class) and part.kind == "module"
        values = [*(part.items or ()), *(part.attributes.values() if own else ())]
        always = [each.alternatives[0] for each in values if len(each.alternatives) == 1]
        waiting += [held for guard, held in always if not guard and isinstance(held, Object)]
    yield from found


def children_of(it: Interpreter, item: Object) -> list[Named] | None:
    """The modules directly below a module; None where they are not known."""
    open_to_others = item.open and REPARAMETRISED not in item.state
    if item.each or open_to_others or "adapter" in item.state or "layers_wrapped" in item.sites:
        return None
    if item.kind == "criterion":
        return []
    if item.kind == "layer":
        return _modules_among(it, _added_to(item)) if _is_described(item) else None
    if item.kind == "modules" and item.items is not None:
        named = [(str(place), value) for place, value in enumerate(item.items)]
        return None if "named" in item.state else _modules_among(it, named)
    if isinstance(item.type, Class) and is_own_module(item.type):
        return _modules_among(it, list(item.attributes.items()))
    return None


def _is_described(layer: Object) -> bool:
    """Whether it is told which parameters a layer has: torch.nn's own, with none put in the place of another."""
    if isinstance(layer.type, Class) or layer.built is None:
        return False
    own = names_of_own(layer)
    return (bool(own) or layer.class_name in PARAMETERLESS) and layer.attributes.keys().isdisjoint((*own, *BOTH))


def _added_to(layer: Object) -> list[tuple[str, Value]]:
    """What the code put on a layer of torch.nn, which has no modules of its own."""
    own = settings_of(layer)
    return [
        (name, Value([pair for pair in value if not _is_read(layer, pair[1])]))
        for name, value in layer.attributes.items()
        if name not in own
    ]


def _is_read(layer: Object, item: Alternative) -> bool:
    """Whether something stands for what the code read of a layer and nobody put there."""
    return isinstance(item, Object) and item.kind == "part" and item.parent is layer


def _modules_among(it: Interpreter, named: list[tuple[str, Value]]) -> list[Named] | None:
    """The modules among attributes or elements; None where one may be a module that is not known."""
    found: list[Named] = []
    for name, value in named:
        for guard, part in value:
            if not isinstance(part, Object):
                continue
            own = isinstance(part.type, Class) and part.kind == "module"
            if own or part.kind in ("layer", "modules", "criterion"):
                found.append(Named(name, part, guard))
            elif (
                it.library.is_kind(part, "module") or _is_parameter(part) or "foreign" in part.state or _is_loaded(part)
            ):
                return None
    return found


def _is_loaded(part: Object) -> bool:
    """Whether it comes from a file, in which there may be a module."""
    return root(part).type == "checkpoint_file"


def _is_parameter(part: Object) -> bool:
    return part.type == "torch.nn.Parameter"


def parameters_of(it: Interpreter, item: Object) -> list[Named] | None:
    """All parameters below a module, in PyTorch's order; None where they are not known."""
    tree = modules_of(it, item)
    if tree is None or any(REPARAMETRISED in each.item.state for each in tree):
        return None
    return [
        Named(f"{each.name}.{own.name}" if each.name else own.name, own.item, guard)
        for each in tree
        for own in own_parameters(it, each.item)
        if (guard := conj(each.guard, own.guard)) is not None
    ]


def own_parameters(it: Interpreter, item: Object) -> list[Named]:
    """A known module's own parameters, made when they are first asked for: what a layer is built with stays."""
    if item.kind != "layer":
        return []
    known: dict[Object, list[Named]] = it.run.facts.setdefault(OWN_PARAMETERS, {})
    if item not in known:
        known[item] = list(_made_parameters(it, item))
    return known[item]


def _made_parameters(it: Interpreter, item: Object) -> Iterator[Named]:
    asked = item.class_name in INSTANCE_NORMS
    whole = _together(
        [_guard_of(it, item, "affine", const(not asked)), _guard_of(it, item, "elementwise_affine", TRUE)]
    )
    for name in names_of_own(item):
        guard = _together([whole, _guard_of(it, item, "bias", TRUE)]) if name.startswith("bias") else whole
        if guard != NEVER:
            yield Named(name, parameter_of(it, item, name), guard)


def names_of_own(layer: Object) -> tuple[str, ...]:
    """The parameters of a layer that is built with all of them; none where that is not known."""
    if layer.class_name in RECURRENT:
        return _of_recurrent(layer)
    return BOTH if layer.class_name in INSTANCE_NORMS else OF_LAYERS.get(layer.class_name, ())


def _of_recurrent(layer: Object) -> tuple[str, ...]:
    """The parameters of a recurrent network, by its layers and directions (torch/nn/modules/rnn.py)."""
    built = settings_of(layer)
    count, both, projected = (
        built.get(name, const(usual)).constant()
        for name, usual in (("num_layers", 1), ("bidirectional", False), ("proj_size", 0))
    )
    if not isinstance(count, int) or count > MOST_PARAMETERS or both is None or projected is None:
        return ()
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", *(["weight_hr"] if projected else []))
    ends = [f"_l{number}{way}" for number in range(count) for way in ("", *(["_reverse"] if both else []))]
    return tuple(kind + end for end in ends for kind in kinds)


def own_parameter(it: Interpreter, layer: Object, name: str) -> Value | None:
    """A layer's own parameter by its name: None in the program where it is built without it; None where not known."""
    if not _is_described(layer) or name not in names_of_own(layer):
        return None
    own = next((each for each in own_parameters(it, layer) if each.name == name), None)
    if own is None:
        return NONE
    return union([of(own.item).under(own.guard), NONE.under(complement(own.guard))]) if own.guard else of(own.item)


def _guard_of(it: Interpreter, layer: Object, name: str, default: Value) -> Guard:
    """The guard under which a layer was built with a setting that is true."""
    value = replaced(settings_of(layer).get(name, default), default)
    return either([guard for held, item in value for guard, truth in _truths(it, held, item) if truth])


def parameter_of(it: Interpreter, layer: Object, name: str) -> Object:
    """The parameter of a layer by its name: the same one whenever it is asked for."""
    key = f"parameter {name}"
    held = layer.state.get(key)
    if held is None:
        made = it.new("parameter", "torch.nn.Parameter", f"{layer.label}.{name}" if layer.label else "", layer.site)
        made.parent, made.born = layer, layer.born
        made.state["trains"] = TRUE if _trains(layer) else FALSE
        held = layer.state[key] = of(made)
    return held.objects()[0]


def _trains(layer: Object) -> bool:
    return trainable(layer) != "none"


def set_trains(it: Interpreter, parameters: Iterable[Named], value: Value) -> None:
    """`parameter.requires_grad = value` of each, under the guard of the walk and its own; the modules around are told
    what trains now.
    """
    truths = union(Value([(guard, Const(truth))]) for held, item in value for guard, truth in _truths(it, held, item))
    around: dict[Object | None, None] = {}
    for _, parameter, guard in parameters:
        with it.under(guard) as possible:
            if possible:
                before = parameter.state["trains"]
                parameter.state["trains"] = assigned(changes.since(it, parameter), truths, before)
                around[parameter.parent] = None
    told: set[Object] = set()
    for item in around:
        tell(it, item, told)


def _truths(it: Interpreter, held: Guard, item: Alternative) -> Iterator[tuple[Guard, bool]]:
    for guard, truth in comparison.truths(it, item):
        both = conj(held, guard)
        if both is not None:
            yield both, truth


def tell(it: Interpreter, item: Object | None, told: set[Object]) -> None:
    """Work out anew, for a module and those around it, how much of it trains, up to what was `told` already."""
    inner: Value | None = None
    while item is not None and item not in told:
        found = parameters_of(it, item)
        if found:
            item.state["trainable"] = _how_much(found)
            told.add(item)
        elif inner is not None and "trainable" in item.state:
            item.state["trainable"] = _mixed(item.state["trainable"], inner)
        inner = item.state.get("trainable", inner)
        item = item.parent


def _mixed(outer: Value, inner: Value) -> Value:
    """How much of a module trains of which one part is known: some of it where the two differ."""
    return union(
        Value([(both, part if part == whole or whole not in _WHOLE else Const("some"))])
        for held, whole in outer
        for guard, part in inner
        if (both := conj(held, guard)) is not None
    )


_WHOLE = (Const("all"), Const("none"), Const("some"))


def _how_much(found: list[Named]) -> Value:
    """ "all", "some" or "none", under which guards: a parameter counts where it is there."""
    there = [(each.guard, either(each.item.state["trains"].is_const(True))) for each in found]
    moving = [_together([guard, trains]) for guard, trains in there]
    frozen = [_together([guard, complement(trains)]) for guard, trains in there]
    if any(guard == ALWAYS for guard in moving) and any(guard == ALWAYS for guard in frozen):
        return const("some")
    every, none = (_together([complement(guard) for guard in guards]) for guards in (frozen, moving))
    some = _together([complement(every), complement(none)])
    ways = ((every, "all"), (none, "none"), (some, "some"))
    return Value([(guard, Const(word)) for guard, word in ways if guard != NEVER])


def _together(guards: list[Guard]) -> Guard:
    made: Guard | None = ALWAYS
    for guard in guards:
        made = None if made is None else conj(made, guard)
    return NEVER if made is None else made
