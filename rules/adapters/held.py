"""What the optimizers of a run hold."""

from __future__ import annotations

from gclint.frameworks.torch_states import is_inside
from gclint.run.events import ItemSet, OptimizerBuilt, OptimizerStep, TrainerStarted
from gclint.run.guards import Guard
from gclint.run.parallel import owners
from gclint.run.run import Run
from gclint.run.values import Object, Value, root

WRAPPERS = ("ddp", "dp", "fsdp")
MODULES = ("module", "modules", "layer")
GIVES_MORE = "add_param_group"


def known_optimizers(run: Run) -> list[OptimizerBuilt]:
    """The optimizers of a run, where it is known of all of them what they hold, from the beginning to the end; no
    optimizer, where one of them steps that nobody has seen being built, is given more later, or is a trainer's own.
    """
    built = run.of_type(OptimizerBuilt)
    seen = {each.optimizer for each in built}
    known = all(_is_known(each.parameters) for each in built) and not run.of_type(TrainerStarted)
    if known and all(each.optimizer in seen for each in run.of_type(OptimizerStep)) and not are_groups_changed(run):
        return built
    return []


def held_by(built: list[OptimizerBuilt]) -> list[tuple[Object, Guard]]:
    """The modules whose parameters optimizers hold, and the tensors by themselves, each with the guard under which it
    is so; of a wrapper all that may be in it.
    """
    return [
        (held, each.guard)
        for each in built
        for owner in (*owners(each.parameters), *_tensors(each.parameters))
        for held in _inside(owner)
    ]


def _tensors(parameters: Value) -> list[Object]:
    """The tensors that an optimizer is given by themselves."""
    found = parameters.objects()
    inner = [value for item in found for value in (*(item.items or ()), *(item.entries or {}).values())]
    return [item for item in found if item.kind == "tensor"] + [each for value in inner for each in _tensors(value)]


def _inside(owner: Object) -> list[Object]:
    """What is in a wrapper; a module itself, and what is in the wrappers and the modules of another that it holds."""
    found, waiting = dict[Object, None](), [owner]
    while waiting:
        item = waiting.pop()
        if item.kind in WRAPPERS and "module" in item.attributes:
            waiting += item.attributes["module"].objects()
        elif item not in found:
            found[item] = None
            held = (each for value in (*(item.items or ()), *item.attributes.values()) for each in value.objects())
            waiting += [each for each in held if each.kind in WRAPPERS or _is_of_another(each, item)]
    return list(found)


def _is_of_another(item: Object, owner: Object) -> bool:
    """Whether a module that another one holds was held by a third one before: that is around it, and may hold both."""
    apart = item.parent is not None and item.parent is not owner and not is_inside(owner, item)
    return apart and item.kind in MODULES


def _is_known(parameters: Value) -> bool:
    """Whether all that an optimizer is given is known: parameters of modules, by themselves or in lists and groups."""
    found = parameters.objects()
    return bool(found) and len(found) == sum(1 for _ in parameters) and all(map(_is_a_known_part, found))


def _is_a_known_part(item: Object) -> bool:
    if item.kind in ("parameters", "parameter"):
        return item.parent is not None and all(map(_is_a_known_module, _inside(item.parent)))
    if item.kind == "tensor":
        return "leaf" in item.state
    if item.entries is not None:
        return "params" in item.entries and _is_known(item.entries["params"])
    return item.items is not None and not item.open and all(map(_is_known, item.items))


def _is_a_known_module(item: Object) -> bool:
    """Whether it is known of which model something is a module, or that it is a model by itself."""
    return item.type != "" or item.kind in ("layer", "modules") or item.parent is not None


def are_groups_changed(run: Run) -> bool:
    """Whether some optimizer is given further parameters later, or may be, by code that the program does not come to
    for all that is known.
    """
    return any(True for _ in run.modules_with(GIVES_MORE)) or any(
        root(each.target).kind == "optimizer" and each.index.constant() == "params" for each in run.of_type(ItemSet)
    )
