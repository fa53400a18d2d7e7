"""What a run knows of a thing at one moment, in words: a model, an optimizer, a loader, a schedule, a process group, a
setting.

Only what holds there is said: what is true under a condition is told with it, and of a module that code which nobody
knows may have changed nothing but what it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..frameworks.torch_modules import mode
from ..run.guards import Guard, conj
from ..run.values import Const, External, Object, Value
from .this_run import always, at, bits_of, place_of, processes_of

if TYPE_CHECKING:
    from ..run.interpreter import Interpreter
    from ..run.run import Run

TRAINS = {"none": "frozen", "all": "all of it trains", "some": "a part of it trains", "adapters": "its adapters train"}
WRAPPERS = {
    "ddp": "DistributedDataParallel", "fsdp": "FullyShardedDataParallel", "dp": "DataParallel", "engine": "DeepSpeed",
}  # fmt: skip
MADE_WITH = ("optimizer", "schedule", "loader", "scaler", "training_args", "trainer")
GROUP = "init_process_group"
MOST_SHOWN = 60


def told(it: Interpreter, node: ast.AST, value: Value) -> list[str]:
    """What a run knows of the things that an expression, or a parameter, can be."""
    if any(each.name.endswith(f".{GROUP}") for each in it.run.calls_at(node)):
        return ["; ".join(["a process group", *processes_of(it.run)])]
    held = [(both, item) for guard, item in value if (both := conj(it.guard, guard)) is not None]
    things = [text for guard, item in held if isinstance(item, Object) for text in _said(it, item, guard)]
    plain = not isinstance(node, (ast.Constant, ast.Call))
    return things + [_setting(it, item, guard) for guard, item in held if plain and isinstance(item, Const)]


def _setting(it: Interpreter, item: Const, guard: Guard) -> str:
    """A number, a text or a flag, where it comes from if that is a file of its own, and its condition."""
    written = repr(item.value)
    text = f"`{written if len(written) <= MOST_SHOWN else written[: MOST_SHOWN - 1] + '…'}`"
    if item.place is not None:
        text += f", given at {place_of(item.place)}"
    when = it.run.condition(guard).brief
    return f"{text} ({when})" if when else text


def _said(it: Interpreter, item: Object, guard: Guard) -> Iterator[str]:
    kind = "module" if it.library.is_kind(item, "module") else item.kind
    if kind != "module" and kind not in MADE_WITH and not item.class_name.endswith("Sampler"):
        return
    if kind == "module":
        text = "; ".join([_name(item), *_of_module(it.run, item)])
    else:
        text = _name(item) + (f" with {', '.join(settings)}" if (settings := list(_made_with(item))) else "")
    rounds = "in the first round of the loop" if kind == "module" and it.vague else ""
    when = "; ".join(filter(None, (it.run.condition(guard).brief, rounds)))
    yield f"{text} ({when})" if when else text


def _name(item: Object) -> str:
    """The class of a thing and where it was made."""
    kind = f"`{item.class_name}`"
    return f"{kind}, made at {place_of(item.site)}" if item.site is not None else kind


def _of_module(run: Run, item: Object, around: Object | None = None) -> Iterator[str]:
    inner = item.attributes["module"].only() if item.kind in WRAPPERS and "module" in item.attributes else None
    for name in ("find_unused", "static_graph"):
        held = always(item.known(name))
        if item.kind == "ddp" and isinstance(held, Const):
            yield f"{'find_unused_parameters' if name == 'find_unused' else name}={held.value}"
    if isinstance(inner, Object):
        yield f"of {_name(inner)}"
        yield from _of_module(run, inner, item)
    elif not item.escaped:
        yield from _states(run, item, around)


def _states(run: Run, item: Object, around: Object | None) -> Iterator[str]:
    yield from bits_of(item, run)
    for name in ("dtype", "device_map"):
        held = always(item.known(name))
        if isinstance(held, Const) and held.value is not None:
            yield f"{name} {held.value}"
    trains, training = always(item.known("trainable")), always(mode(item))
    if isinstance(trains, Const) and trains.value in TRAINS:
        yield TRAINS[trains.value]
    if isinstance(training, Const):
        yield f"in {'training' if training.value else 'evaluation'} mode"
    checkpointing = always(item.known("checkpointing"))
    if isinstance(checkpointing, Object):
        reentrant = always(checkpointing.attributes["reentrant"])
        how = {True: "reentrant ", False: "non-reentrant "}.get(reentrant.value) if isinstance(reentrant, Const) else ""
        yield f"{how}checkpointing is on{at(checkpointing.site)}"
    for name in ("ddp", "fsdp"):
        wrapper = always(item.known(name))
        if isinstance(wrapper, Object) and wrapper is not around:
            yield f"wrapped by {WRAPPERS[name]}{at(wrapper.site)}"
    if always(item.known("sharded")) == Const(True):
        yield f"sharded by fully_shard{at(item.sites.get('sharded'))}"


def _made_with(item: Object) -> Iterator[str]:
    """The settings that something was made with, as far as they are known."""
    parameters = item.attributes.get("params")
    groups = always(parameters) if parameters is not None else None
    if isinstance(groups, Object) and groups.items:
        held = [always(each) for each in groups.items]
        if all(isinstance(each, Object) and each.entries is not None for each in held):
            yield f"{len(held)} group{'s' if len(held) > 1 else ''} of parameters"
    for name, value in item.attributes.items():
        given = always(value)
        if isinstance(given, Const) and given.value is not None:
            yield f"{name}={given.value!r}"
        elif isinstance(given, External):
            yield f"{name}={given.name}"
        elif isinstance(given, Object) and name in ("sampler", "optimizer", "model", "batch_sampler"):
            yield f"{name} {_name(given)}"
