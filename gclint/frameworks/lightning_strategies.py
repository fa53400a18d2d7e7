"""Lightning's strategies: how many processes a Trainer or a Fabric starts, and what it wraps the model in there.

`devices` and `num_nodes` decide the processes, which Lightning starts itself; "auto" on several is DDP (2.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..run import environment
from ..run.calls import Call
from ..run.events import Wrapped
from ..run.guards import DISTRIBUTED
from ..run.interpreter import Interpreter
from ..run.parallel import BY_STRATEGY
from ..run.values import FALSE, NONE, NOTHING, TRUE, Alternative, Const, Object, Value, const, of, root, union
from ..run.wrapping import ALWAYS_WRAPS, GIVEN_TO
from .deepspeed import remember
from .files_read import lifted
from .process_starters import on_processes, shows_processes
from .registry import Framework
from .settings import with_settings
from .torch_checkpoint import checkpointing_object, turn_on
from .torch_modules import set_state
from .torch_training import emit_backward

PACKAGES = ("lightning", "pytorch_lightning", "lightning_fabric")
STRATEGIES = ("DDPStrategy", "FSDPStrategy", "DeepSpeedStrategy", "SingleDeviceStrategy", "ModelParallelStrategy")

framework = Framework("lightning strategies")


@framework.function(*(f"{top}:{name}" for top in PACKAGES for name in STRATEGIES))
def make_strategy(call: Call) -> Value:
    """A strategy and its settings."""
    made = with_settings(call, "lightning_strategy")
    made.open, made.site = call.open, call.site
    return of(made)


@contextmanager
def started(it: Interpreter, trainer: Object) -> Iterator[None]:
    """Walk what runs in the processes that a trainer starts."""
    several = _several(trainer)
    if several is None:
        yield
        return
    if several and trainer.site is not None:
        shows_processes(it, trainer.site)
    with on_processes(it, several):
        yield


def _several(trainer: Object) -> bool | None:
    """Whether a trainer starts more than one process; None when it is left to what there is."""
    counts = [_count(trainer.attributes.get(name, NOTHING).only()) for name in ("devices", "num_nodes")]
    if any(count is not None and count > 1 for count in counts):
        return True
    nodes = counts[1] if "num_nodes" in trainer.attributes else 1
    return False if counts[0] == 1 and nodes == 1 else None


def _count(item: Alternative | None) -> int | None:
    if isinstance(item, Object) and item.items is not None and not item.open and not item.each:
        return len(item.items)
    if isinstance(item, Const) and str(item.value).isdigit():
        return int(item.value)
    return None


def wrap(call: Call, trainer: Object, module: Object, accumulation: Value) -> None:
    """What the strategy makes of a module on several processes."""
    for guard, strategy in trainer.attributes.get("strategy", const("auto")):
        with call.it.under(guard) as possible:
            if possible:
                _wrap(call, trainer, strategy, module, accumulation)


def _wrap(call: Call, trainer: Object, strategy: Alternative, module: Object, accumulation: Value) -> None:
    name = _name(strategy)
    if name.startswith("deepspeed"):
        _deepspeed(call, strategy, name, module)
    elif name.startswith("fsdp"):
        _fsdp(call, strategy, module)
    elif name == "auto" or name.startswith("ddp"):
        _ddp(call, trainer, strategy, name, module, accumulation)


def _name(strategy: Alternative) -> str:
    if isinstance(strategy, Const) and isinstance(strategy.value, str):
        return strategy.value
    if isinstance(strategy, Object) and strategy.kind == "lightning_strategy":
        return strategy.class_name.removesuffix("Strategy").lower()
    return ""


def _models(it: Interpreter, module: Object) -> list[Object]:
    return [module, *(item for item in it.run.models if root(item) is module and item is not module)]


def _ddp(call: Call, trainer: Object, strategy: Alternative, name: str, module: Object, accumulation: Value) -> None:
    it = call.it
    with it.under(frozenset({(DISTRIBUTED, True)})) as possible:
        if not possible:
            return
        place = strategy.site if isinstance(strategy, Object) else trainer.site
        made = it.new("ddp", "torch.nn.parallel.DistributedDataParallel", "DDP by Lightning", place)
        made.attributes["module"] = of(module)
        made.state["find_unused"] = const("find_unused_parameters_true" in name)
        made.state["static_graph"] = FALSE
        if isinstance(strategy, Object):
            made.sites.update(strategy.sites)
            left_out = of(it.unknown("**")) if strategy.open else FALSE
            made.state["find_unused"] = strategy.attributes.get("find_unused_parameters", left_out)
            made.state["static_graph"] = strategy.attributes.get("static_graph", left_out)
        made.state["accumulation"] = accumulation
        for model in _models(it, module):
            set_state(it, model, "ddp", of(made), NONE)
        it.emit(Wrapped(it.moment(site=call.site), module, made))


def _deepspeed(call: Call, strategy: Alternative, name: str, module: Object) -> None:
    number = name.removeprefix("deepspeed_stage_")[:1] if isinstance(strategy, Const) else ""
    stage = int(number) if number.isdigit() else 2
    given: Value = NOTHING
    if isinstance(strategy, Object):
        held = strategy.attributes.get("stage", const(2)).constant()
        stage, given = held if isinstance(held, int) else 2, strategy.attributes.get("config", NOTHING)
    config = given or lifted(call, {"zero_optimization": {"stage": stage}}, "strategy")
    for model in _models(call.it, module):
        remember(call, model, config)


def _fsdp(call: Call, strategy: Alternative, module: Object) -> None:
    """The model is sharded on several processes; activation_checkpointing_policy wraps layers in torch's wrapper, which
    is not reentrant.
    """
    with call.it.under(frozenset({(DISTRIBUTED, True)})) as possible:
        for model in _models(call.it, module) if possible else ():
            set_state(call.it, model, BY_STRATEGY, TRUE, NONE)
    names = ("activation_checkpointing_policy", "activation_checkpointing")
    if isinstance(strategy, Object) and any(name in strategy.attributes for name in names):
        for model in _models(call.it, module):
            turn_on(call.it, model, checkpointing_object(call.it, call.site, "wrapper", FALSE))


# Fabric


@framework.function(*(f"{top}:Fabric" for top in PACKAGES))
def make_fabric(call: Call) -> Value:
    """Fabric(devices=..., strategy=...)."""
    made = with_settings(call, "fabric")
    made.site = call.site
    if _several(made):
        shows_processes(call.it, call.site)
    return of(made)


@framework.attribute("fabric", "global_rank", "local_rank")
@framework.attribute("lightning_trainer", "global_rank", "local_rank")
@framework.attribute("lightning_module", "global_rank", "local_rank")
def number_of_process(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """A number that differs on each process."""
    return environment.number(it, "LOCAL_RANK", it.site(node))  # type: ignore[arg-type]


@framework.method("fabric", "setup", "setup_module")
def setup(call: Call) -> Value:
    """The module wrapped, and its optimizers, in the same order."""
    assert call.receiver is not None
    for module in call.get("module", 0).objects():
        with started(call.it, call.receiver):
            wrap(call, call.receiver, module, const(1))
        set_state(call.it, module, GIVEN_TO, const(ALWAYS_WRAPS))
    if len(call.positional) == 1:
        return call.positional[0]
    made = call.it.new("tuple", "", "", call.site)
    made.items = list(call.positional)
    return of(made)


@framework.method("fabric", "setup_dataloaders", "setup_optimizers")
def set_up_others(call: Call) -> Value:
    """Loaders and optimizers in the same order: what goes over the rows, divided among the processes, and steps."""
    if len(call.positional) == 1 and not call.open:
        return call.positional[0]
    made = call.it.new("tuple", "", "", call.site)
    made.items, made.open = list(call.positional), call.open
    return of(made)


@framework.method("fabric", "backward")
def backward(call: Call) -> Value:
    """fabric.backward(loss)."""
    emit_backward(call, call.get("tensor", 0))
    return NONE


@framework.method("fabric", "launch")
def launch(call: Call) -> Value:
    """fabric.launch(fn): fn(fabric, ...) in each process; without a function the program itself goes on there."""
    assert call.receiver is not None
    function = call.get("function", 0)
    if not function:
        return NONE
    with started(call.it, call.receiver):
        given = [of(call.receiver), *call.positional[1:]]
        return union([call.it.call(function, Call(call.it, call.site, "launched", given))])


@framework.method("fabric", "no_backward_sync", "autocast", "init_module", "rank_zero_first")
def context(call: Call) -> Value:
    """A with block; no_backward_sync is DDP's no_sync."""
    name = "no_sync" if call.name.endswith("no_backward_sync") else call.name
    made = call.it.new("context", name, "", call.site)
    made.attributes["of"] = call.get("module", 0)
    return of(made)
