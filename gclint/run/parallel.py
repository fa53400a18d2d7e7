"""Models across processes: their wrappers, whose parameters an optimizer holds, and the models of a loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .events import Backward, Event, Forward, TrainerStarted
from .guards import ALWAYS, DISTRIBUTED, Guard, conj
from .run import PROCESSES, Run, ways
from .values import Const, Object, Value, made_from, root
from .wholes import SHARED

BY_TRAINER = "DDP by Trainer"
BY_ACCELERATE = "DDP by accelerate"
BY_STRATEGY = "sharded by a strategy"
"""The fact that a library shards a model over the processes, which is no wrapper that the code could see."""


def alone(run: Run) -> bool:
    """Whether the launcher starts one process only, as what runs a notebook does where that starts none itself, and
    that one starts no others.
    """
    if run.facts.get(PROCESSES):
        return False
    return (DISTRIBUTED, False) in run.assumed or run.path.endswith(".ipynb")


def is_group_of_one(run: Run) -> bool:
    """Whether the program says itself that it is its only process."""
    starts = [each.call for each in run.calls_of("torch.distributed.init_process_group".__eq__)]
    return any(call is not None and call.get("world_size", 3).constant() == 1 for call in starts)


def wrapped_by_hand(model: Object, base: Guard) -> Iterator[tuple[Guard, Object]]:
    """The DDP wrappers that the code itself puts around a model in one of several processes, each with its guard."""
    for guard, (ddp,) in ways(base, model.known("ddp")):
        if (
            isinstance(ddp, Object)
            and ddp.label == ""
            and ddp.site is not None
            and isinstance(ddp.site.node, ast.Call)
            and (DISTRIBUTED, False) not in guard
        ):
            yield guard, ddp


def wrapped_by(label: str, model: Object, base: Guard) -> Iterator[tuple[Guard, Object]]:
    """The DDP wrappers that a library puts around a model, named by what it is, each with its guard."""
    for guard, (ddp,) in ways(base, model.known("ddp")):
        if isinstance(ddp, Object) and ddp.label == label:
            yield guard, ddp


def owned(parameters: Value, depth: int = 3, guard: Guard = ALWAYS) -> Iterator[tuple[Guard, Object]]:
    """The modules whose parameters a value holds, each with its guard: an iterable of them, a list, or groups."""
    for given, item in parameters:
        held = conj(guard, given) if isinstance(item, Object) else None
        if held is None or not isinstance(item, Object):
            continue
        if item.kind in ("parameters", "parameter") and item.parent is not None:
            yield held, item.parent
        if depth:
            parts = [*(item.items or []), *((item.entries or {}).values() if item.entries else [])]
            for value in [*parts, *(inner for name, inner in item.attributes.items() if name == "[...]")]:
                yield from owned(value, depth - 1, held)


def owners(parameters: Value) -> list[Object]:
    """The modules whose parameters a value holds."""
    return list(dict.fromkeys(item for _, item in owned(parameters)))


def models_of(parameters: Value) -> list[Object]:
    """The outermost models whose parameters a value holds, wrappers looked through."""
    return list(dict.fromkeys(root(inside(item)) for item in owners(parameters)))


def inside(item: Object) -> Object:
    """The model in a wrapper; the object itself when it is none."""
    while item.kind in ("ddp", "dp", "fsdp"):
        inner = item.attributes.get("module")
        objects = inner.objects() if inner is not None else []
        if not objects:
            break
        item = objects[0]
    return item


def forwards_of(event: Backward, run: Run) -> list[Forward]:
    """The forwards that a loss came from."""
    wanted = set(event.forwards)
    return [item for item in run.of_type(Forward) if item.activation in wanted]


def trained(event: Event) -> list[Object]:
    """The models that get gradients at a backward, or in a trainer, with those whose parts they share."""
    if isinstance(event, TrainerStarted):
        return list(event.models)
    if not isinstance(event, Backward):
        return []
    models = dict.fromkeys(item.attributes["of"].objects()[0] for item in event.forwards)
    shared = (part for model in models for part in model.known(SHARED).objects())
    return list(models | dict.fromkeys(map(root, shared)))


def reaches(loss: Value) -> set[Object]:
    """All that a loss was computed from with gradients: what was cut off is left out, with what it was made of."""
    waiting, found = loss.objects(), set[Object]()
    while waiting:
        item = waiting.pop()
        if item not in found and "detached" not in item.state:
            found.add(item)
            waiting += made_from(item)
    return found


def since(run: Run, first: Event, *kinds: type) -> list[Event]:
    """The events of these types that came after another one, in order."""
    return run.of_type(*kinds, start=run.place(first) + 1)


def of_several(base: Guard, forward: Forward) -> Guard | None:
    """The condition, besides a base, under which the processes of a run train this model together; None for never."""
    model = forward.model
    held = [*ways(base, model.known("ddp")), *ways(base, model.known("fsdp"))]
    wrapped = [guard for guard, (wrapper,) in held if isinstance(wrapper, Object)]
    if forward.through is not None and forward.through.kind in ("ddp", "fsdp"):
        wrapped.append(base)
    elif model.known("deepspeed").objects() or (forward.through is not None and forward.through.kind == "engine"):
        wrapped += filter(None, [conj(base, frozenset({(DISTRIBUTED, True)}))])
    for fact in ("sharded", BY_STRATEGY):
        wrapped += [guard for guard, (sharded,) in ways(base, model.known(fact)) if sharded == Const(True)]
    return min(wrapped, key=len, default=None)
