"""wandb: what `init` is given as `config` is what `wandb.config` and the run hold, unless a sweep says otherwise
(wandb 0.31.0, wandb_init.py and wandb_config.py).
"""

from __future__ import annotations

from ..run.calls import Call
from ..run.containers import OF_OPTIONS
from ..run.interpreter import Interpreter
from ..run.values import NONE, NOTHING, Alternative, Object, Value, assigned, of
from .config_nodes import put_at
from .registry import Framework

CONFIG, RUN = "wandb.config", "wandb.run"
SWEEPS = ("wandb.agent", "wandb.sweep")
framework = Framework("wandb", kinds={"wandb_run": "unknown"})


@framework.function("wandb:init")
def begin(call: Call) -> Value:
    """A run, which keeps the settings."""
    made = call.make("wandb_run", call.name)
    config = _settings(call)
    made.attributes["config"] = config
    _becomes(call, RUN, of(made))
    _becomes(call, CONFIG, config)
    return of(made)


@framework.function("wandb:finish")
def finish(call: Call) -> Value:
    """There is no run any more."""
    _becomes(call, RUN, NONE)
    return NONE


@framework.constant(RUN)
def no_run(it: Interpreter) -> Value:
    """None before the first one begins, in the program's own process."""
    return NONE if it.run.is_program else of(it.unknown(RUN))


def _becomes(call: Call, name: str, value: Value) -> None:
    overrides = call.run.overrides
    overrides[name] = assigned(call.it.guard - call.run.assumed, value, overrides.get(name))


def _settings(call: Call) -> Value:
    """What a parser gave as it is, of another mapping its entries; unknown of the options as a dict, of which it is
    kept who reads them, and where a sweep of the project may say otherwise.
    """
    given = call.get("config", None, NOTHING)
    if any(next(iter(call.it.modules_with(word)), None) is not None for word in SWEEPS):
        return of(call.it.unknown(CONFIG, call.site))
    held = [(guard, _held(call, item)) for guard, item in given]
    return Value(held) if held else of(call.it.unknown(CONFIG, call.site))


def _held(call: Call, item: Alternative) -> Object:
    if isinstance(item, Object) and item.kind == "namespace":
        return item
    if not isinstance(item, Object) or item.entries is None or OF_OPTIONS in item.state:
        return call.it.unknown(CONFIG, call.site)
    made = call.it.new("config_node", CONFIG, item.label, call.site)
    made.entries, made.open, made.sites = {}, item.open, dict(item.sites)
    for key, value in item.entries.items():
        put_at(call, made, str(key), value)
    return made
