"""accelerate: prepare, accumulation, and the offload functions."""

from __future__ import annotations

from ..run import environment
from ..run.calls import Call
from ..run.events import Wrapped
from ..run.interpreter import Interpreter
from ..run.parallel import BY_ACCELERATE
from ..run.values import FALSE, NONE, NOTHING, Const, Object, Value, const, of, union
from ..run.wrapping import ACCELERATE, ALWAYS_WRAPS, GIVEN_TO, INNER
from .registry import Framework
from .settings import with_settings
from .sharding import PLAIN_DDP, is_none, remember_launched
from .torch_modules import promote, set_state
from .torch_training import emit_backward

framework = Framework(
    "accelerate",
    kinds={"accelerator": "unknown", "device_map": "unknown"},
    bases={"accelerate:Accelerator": "accelerator"},
)

PLUGINS = ("fsdp_plugin", "deepspeed_plugin", "deepspeed_plugins", "megatron_lm_plugin")


@framework.function("accelerate:Accelerator")
def make_accelerator(call: Call) -> Value:
    """Accelerator(kwargs_handlers=[DistributedDataParallelKwargs(...)], ...)."""
    made = with_settings(call, "accelerator")
    made.site, made.open = call.site, call.open
    return of(made)


@framework.function("accelerate:DistributedDataParallelKwargs")
def ddp_kwargs(call: Call) -> Value:
    """DDP's flags for prepare."""
    return of(with_settings(call, "ddp_kwargs"))


@framework.method("accelerator", "prepare", "prepare_model", "prepare_optimizer", "prepare_scheduler")
def prepare(call: Call) -> Value:
    """Models are wrapped for several processes; everything comes back in the same order."""
    assert call.receiver is not None
    for value in call.positional:
        for item in value.objects():
            if call.it.library.is_kind(item, "module") and item.kind != "part":
                _wrap(call, item)
    if len(call.positional) == 1:
        return call.positional[0]
    made = call.it.new("tuple", "", "", call.site)
    made.items = list(call.positional)
    made.open = call.open
    return of(made)


def _wrap(call: Call, model: Object) -> None:
    it = call.it
    assert call.receiver is not None
    promote(model)
    flags = _flags(call.receiver)
    remember_launched(call, model)
    plugged = any(not is_none(call.receiver.attributes.get(name, NONE)) for name in PLUGINS)
    set_state(it, model, GIVEN_TO, const(ALWAYS_WRAPS if plugged or call.receiver.open else ACCELERATE))
    if plugged:
        return
    with it.under(PLAIN_DDP) as possible:
        if not possible:
            return
        made = it.new("ddp", "torch.nn.parallel.DistributedDataParallel", BY_ACCELERATE, call.site)
        made.attributes["module"] = of(model)
        made.state["find_unused"] = flags.attributes.get("find_unused_parameters", FALSE) if flags else FALSE
        made.state["static_graph"] = flags.attributes.get("static_graph", FALSE) if flags else FALSE
        made.state["accumulation"] = call.receiver.attributes.get("gradient_accumulation_steps", const(1))
        if flags is not None:
            made.sites.update(flags.sites)
        set_state(it, model, "ddp", of(made), const(None))
        it.emit(Wrapped(it.moment(site=call.site), model, made))


def _flags(accelerator: Object) -> Object | None:
    for handlers in accelerator.attributes.get("kwargs_handlers", NOTHING).objects():
        for value in handlers.items or []:
            for item in value.objects():
                if item.kind == "ddp_kwargs":
                    return item
    return None


@framework.method("accelerator", "backward")
def backward(call: Call) -> Value:
    """accelerator.backward(loss)."""
    emit_backward(call, call.get("loss", 0))
    return NONE


@framework.method("accelerator", "accumulate", "autocast", "no_sync", "main_process_first")
def context(call: Call) -> Value:
    """A with block."""
    made = call.it.new("context", call.name, "", call.site)
    made.attributes["of"] = call.get("", 0)
    made.attributes["accelerator"] = of(call.receiver) if call.receiver is not None else NOTHING
    return of(made)


@framework.attribute("module", INNER)
def given_back(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """The model in the wrapper that a library gives back, which is the same object here."""
    return of(item) if GIVEN_TO in item.state else None


@framework.method("accelerator", "unwrap_model")
def unwrap(call: Call) -> Value:
    """The model without its wrapper."""
    return call.get("model", 0)


@framework.attribute("accelerator", "num_processes")
def num_processes(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """The number of processes."""
    return environment.number(it, "WORLD_SIZE", it.site(node))  # type: ignore[arg-type]


@framework.attribute("accelerator", "gradient_accumulation_steps")
def rounds_of_a_step(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """How many rounds make a step: 1 where neither the constructor nor the launcher says so (accelerator.py 1.15)."""
    said = (name, "gradient_accumulation_plugin", "deepspeed_plugin")
    launched = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS" in it.run.environment
    return None if item.open or launched or any(each in item.attributes for each in said) else const(1)


@framework.function("accelerate:cpu_offload", "accelerate:disk_offload", "accelerate:cpu_offload_with_hook")
def offload(call: Call) -> Value:
    """All parameters stay on the CPU or on disk and come in one layer at a time."""
    for item in call.get("model", 0).objects():
        promote(item)
        set_state(call.it, item, "offloaded", const("disk" if "disk" in call.last else "cpu"))
        item.sites["offloaded"] = call.site
    return call.get("model", 0)


@framework.function("accelerate:infer_auto_device_map")
def infer_device_map(call: Call) -> Value:
    """A device map as `device_map="auto"` works it out within the same limits."""
    made = call.make("device_map", call.name)
    made.attributes["max_memory"] = call.get("max_memory", 1, NONE)
    return of(made)


@framework.function("accelerate:dispatch_model", "accelerate:load_checkpoint_and_dispatch")
def dispatch(call: Call) -> Value:
    """Layers go where the device map says."""
    name = "device_map"
    given = call.get(name, 1 if call.last == "dispatch_model" else 2, const(None))
    inferred = [item for item in given.objects() if item.kind == "device_map"]
    limits = union(item.attributes["max_memory"] for item in inferred) or call.get("max_memory", None, NONE)
    for item in call.get("model", 0).objects():
        promote(item)
        item.state[name] = Value((guard, Const("auto") if held in inferred else held) for guard, held in given)
        if name in call.places:
            item.sites[name] = call.places[name]
        item.state["max_memory"] = limits
        item.sites.setdefault("dispatched", call.site)
    return call.get("model", 0)


@framework.function("accelerate:PartialState", "accelerate:AcceleratorState")
def partial_state(call: Call) -> Value:
    """This process's place among the others."""
    return of(call.it.new("partial_state", call.name, "", call.site))


@framework.attribute("partial_state", "local_process_index", "process_index")
@framework.attribute("accelerator", "local_process_index", "process_index")
def process_index(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """A number that differs on each process."""
    return environment.number(it, "LOCAL_RANK", it.site(node))  # type: ignore[arg-type]
