"""DeepSpeed: its configuration, which may be a file of the project, and the engine that wraps a model."""

from __future__ import annotations

from ..run.calls import Call
from ..run.events import Wrapped
from ..run.values import FALSE, NONE, NOTHING, Const, External, Object, Value, const, of, union
from .arguments import options_of
from .files_read import lifted
from .registry import Framework
from .torch_distributed import call_ddp, each_model, inner_module, no_sync
from .torch_modules import promote, set_state
from .torch_training import emit_backward

framework = Framework("deepspeed", kinds={"engine": "module"})
STEPS, ROUNDS = "gradient_accumulation_steps", "rounds"


def configuration(call: Call, given: Value) -> Value:
    """A DeepSpeed configuration as a dict: what is given, or what the file holds that is named."""
    parts = []
    for guard, item in given:
        if isinstance(item, Const) and isinstance(item.value, str) and item.value:
            data = call.it.project.data(item.value, call.it.module)
            if isinstance(data, dict):
                parts.append(lifted(call, data, item.value).under(guard))
        elif isinstance(item, Object) and item.entries is not None:
            parts.append(Value([(guard, item)]))
    return union(parts)


def remember(call: Call, model: Object, given: Value) -> None:
    """A model trains under DeepSpeed with this configuration."""
    found = configuration(call, given)
    set_state(call.it, model, "deepspeed", found if found else of(call.it.unknown("deepspeed", call.site)), NONE)


@framework.function("deepspeed.add_config_arguments")
def add_options(call: Call) -> Value:
    """The parser, with the options that the launcher gives (deepspeed/__init__.py, the same from 0.3 to 0.19.8)."""
    given = call.get("parser", 0)
    for parser in given.objects():
        for name in ("--deepspeed", "--deepscale"):
            more = {"action": const("store_true"), "default": FALSE}
            options_of(call.run, parser).append(Call(call.it, call.site, "", [const(name)], more))
            more = {"type": of(External("builtins.str")), "default": NONE}
            options_of(call.run, parser).append(Call(call.it, call.site, "", [const(f"{name}_config")], more))
    return given


@framework.function("deepspeed.initialize")
def initialize(call: Call) -> Value:
    """(engine, optimizer, loader, scheduler)."""
    it = call.it
    made = call.make("engine", "deepspeed.DeepSpeedEngine")
    inner = call.get("model", 1)
    made.attributes["module"] = inner
    made.site = call.site
    given = call.get("config", None, call.get("config_params", None, NOTHING))
    said = union(setting(held, STEPS) for held in configuration(call, given).objects())
    made.attributes[ROUNDS] = said or of(it.unknown(STEPS, call.site))
    for model in inner.objects():
        promote(model)
        remember(call, model, given)
    for _, model in each_model(it, inner):
        it.emit(Wrapped(it.moment(site=call.site), model, made))
    result = it.new("tuple", "", "", call.site)
    names = ("optimizer", "loader", "scheduler")
    result.items = [of(made), *(of(it.unknown(name, call.site)) for name in names)]
    return of(result)


framework.calling("engine")(call_ddp)
framework.method("engine", "no_sync")(no_sync)
framework.attribute("engine", "module")(inner_module)


@framework.method("engine", "backward")
def backward(call: Call) -> Value:
    """engine.backward(loss)."""
    emit_backward(call, call.get("loss", 0))
    return NONE


@framework.method("engine", "step", "zero_grad")
def step(call: Call) -> Value:
    """The engine's own step, which clears the gradients as well."""
    return NONE


@framework.method("engine", STEPS)
def rounds(call: Call) -> Value:
    """How many rounds a step takes, by which `backward` divides the loss."""
    return call.receiver.attributes[ROUNDS] if call.receiver is not None else call.unknown()


def setting(config: Object, *keys: str) -> Value:
    """A nested setting of a configuration; nothing where it is not given."""
    value = of(config)
    for key in keys:
        found = [item.entries[key] for item in value.objects() if item.entries and key in item.entries]
        value = union(found)
    return value


def stage(config: Object) -> int | None:
    """The ZeRO stage of a configuration; None when it does not say."""
    held = setting(config, "zero_optimization", "stage").constant()
    return held if isinstance(held, int) else None


@framework.function("deepspeed.checkpointing.checkpoint", "deepspeed.checkpointing.configure")
def own_checkpointing(call: Call) -> Value:
    """DeepSpeed's own checkpointing is in use."""
    call.run.facts["deepspeed_checkpointing"] = call.site
    return call.unknown()
