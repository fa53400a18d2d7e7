"""Modules of which every part is known: their parameters one by one, by name, and which of them train.

The names are those that PyTorch gives (torch/nn/modules: the attributes that each layer's constructor registers).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..analysis import changes
from ..analysis.guards import ALWAYS, NEVER, Guard, complement, conj, either
from ..analysis.interpreter import Interpreter
from ..analysis.values import FALSE, NOTHING, TRUE, Class, Const, External, Object, Value, const, of, union

MOST_PARAMETERS = 200
WEIGHT, BOTH = ("weight",), ("weight", "bias")
OF_LAYERS = {
    **dict.fromkeys(("Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d"), BOTH),
    **dict.fromkeys(("LayerNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"), BOTH),
    **dict.fromkeys(("Embedding", "EmbeddingBag", "RMSNorm"), WEIGHT),
}
WITHOUT_BIAS = "bias"
WITHOUT_ANY = ("affine", "elementwise_affine")


class Named(NamedTuple):
    """A module or parameter of a tree: its dotted name, and the guard under which it is there."""

    name: str
    item: Object
    guard: Guard


def modules_of(it: Interpreter, item: Object, prefix: str = "") -> list[Named] | None:
    """A module and all below it, in PyTorch's order; None where something of it is not known."""
    below = children_of(it, item)
    if below is None:
        return None
    found = [Named(prefix, item, ALWAYS)]
    for child in below:
        inner = modules_of(it, child.item, f"{prefix}.{child.name}" if prefix else child.name)
        if inner is None or len(found) + len(inner) > MOST_PARAMETERS:
            return None
        found += [
            Named(each.name, each.item, both) for each in inner if (both := conj(child.guard, each.guard)) is not None
        ]
    return found


def children_of(it: Interpreter, item: Object) -> list[Named] | None:
    """The modules directly below a module; None where they are not known."""
    if item.each or item.open or "adapter" in item.state or "layers_wrapped" in item.sites:
        return None
    if item.kind == "layer":
        return [] if item.class_name in OF_LAYERS or _has_no_parameters(item) else None
    if item.kind == "modules" and item.items is not None:
        named = [(str(place), value) for place, value in enumerate(item.items)]
        return None if item.class_name == "ModuleDict" else _modules_among(it, named)
    if isinstance(item.type, Class) and _is_plain(item.type):
        return _modules_among(it, list(item.attributes.items()))
    return None


def _has_no_parameters(item: Object) -> bool:
    from .torch_modules import PARAMETERLESS

    return item.class_name in PARAMETERLESS


def _is_plain(owner: Class) -> bool:
    """Whether a class has no library base but torch.nn.Module."""
    bases = [base.name for base in owner.ancestry() if isinstance(base, External)]
    return bases == ["torch.nn.Module"] or bases == ["torch.nn.modules.module.Module"]


def _modules_among(it: Interpreter, named: list[tuple[str, Value]]) -> list[Named] | None:
    """The modules among attributes or elements; None where one may be a module that is not known."""
    found: list[Named] = []
    for name, value in named:
        for guard, part in value:
            if not isinstance(part, Object):
                continue
            if part.kind in ("layer", "modules") or (isinstance(part.type, Class) and part.kind == "module"):
                found.append(Named(name, part, guard))
            elif it.library.is_kind(part, "module") or _is_parameter(part) or "foreign" in part.state:
                return None
    return found


def _is_parameter(part: Object) -> bool:
    return part.type == "torch.nn.Parameter"


def parameters_of(it: Interpreter, item: Object) -> list[Named] | None:
    """All parameters below a module, in PyTorch's order; None where they are not known."""
    tree = modules_of(it, item)
    if tree is None:
        return None
    return [
        Named(f"{each.name}.{name}" if each.name else name, parameter, each.guard)
        for each in tree
        for name, parameter in own_parameters(it, each.item)
    ]


def own_parameters(it: Interpreter, item: Object) -> Iterator[tuple[str, Object]]:
    """A known module's own parameters, by name, each made when it is first asked for."""
    if item.kind != "layer" or any(_is_off(item, name) for name in WITHOUT_ANY):
        return
    for name in OF_LAYERS.get(item.class_name, ()):
        if name == WITHOUT_BIAS and _is_off(item, "bias"):
            continue
        yield name, parameter_of(it, item, name)


def _is_off(item: Object, name: str) -> bool:
    setting = item.built[1].get(name, NOTHING) if item.built is not None else NOTHING
    return setting.only() == Const(False)


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
    from .torch_modules import trainable

    return trainable(layer) != "none"


def set_trains(it: Interpreter, parameter: Object, value: Value) -> None:
    """`parameter.requires_grad = value`, under the guard of the walk; the modules around are told what trains now."""
    from ..analysis.values import assigned

    truths = union(Value([(guard, Const(truth))]) for held, item in value for guard, truth in _truths(it, held, item))
    parameter.state["trains"] = assigned(changes.since(it, parameter), truths, parameter.state["trains"])
    tell(it, parameter.parent)


def _truths(it: Interpreter, held: Guard, item: object) -> Iterator[tuple[Guard, bool]]:
    from ..analysis import conditions

    for guard, truth in conditions.truths(it, item):  # type: ignore[arg-type]
        both = conj(held, guard)
        if both is not None:
            yield both, truth


def tell(it: Interpreter, item: Object | None) -> None:
    """Work out anew, for a module and those around it, how much of it trains."""
    while item is not None:
        found = parameters_of(it, item)
        if found:
            item.state["trainable"] = _how_much(found)
        item = item.parent


def _how_much(found: list[Named]) -> Value:
    """ "all", "some" or "none", under which guards."""
    trains = [either(each.item.state["trains"].is_const(True)) for each in found]
    if all(guard == ALWAYS for guard in trains):
        return const("all")
    if all(guard == NEVER for guard in trains):
        return const("none")
    if any(guard == ALWAYS for guard in trains) and any(guard == NEVER for guard in trains):
        return const("some")
    every, none = _together(trains), _together([complement(guard) for guard in trains])
    some = _together([complement(every), complement(none)])
    ways = ((every, "all"), (none, "none"), (some, "some"))
    return Value([(guard, Const(word)) for guard, word in ways if guard != NEVER])


def _together(guards: list[Guard]) -> Guard:
    made: Guard | None = ALWAYS
    for guard in guards:
        made = None if made is None else conj(made, guard)
    return NEVER if made is None else made
