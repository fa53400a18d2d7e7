"""trl: trainers for SFT, DPO, GRPO and the like, and their settings.

trl's settings classes turn gradient_checkpointing on by default; SFTTrainer sets use_reentrant=False on
transformers below 5 and asks for input gradients when it makes the adapters itself (trl 0.24 and 1.16).
"""

from __future__ import annotations

from ..analysis.calls import Call
from ..analysis.events import ModelLoaded
from ..analysis.guards import Guard
from ..analysis.values import FALSE, NONE, NOTHING, TRUE, Alternative, Const, Object, Value, of
from .peft import adapt
from .registry import Framework
from .torch_modules import set_state
from .transformers import at_least, load_model
from .transformers_trainer import make_trainer, record_arguments

CONFIGS = (
    "SFTConfig",
    "DPOConfig",
    "GRPOConfig",
    "RewardConfig",
    "KTOConfig",
    "ORPOConfig",
    "CPOConfig",
    "RLOOConfig",
    "PRMConfig",
    "OnlineDPOConfig",
    "BCOConfig",
    "GKDConfig",
    "NashMDConfig",
    "XPOConfig",
)
TRAINERS = tuple(name.replace("Config", "Trainer") for name in CONFIGS)
CHECKPOINT_BY_DEFAULT = ("SFTConfig", "DPOConfig", "GRPOConfig", "RewardConfig", "KTOConfig", "RLOOConfig")

framework = Framework(
    "trl",
    bases={**{f"trl:{name}": "training_args" for name in CONFIGS}, **{f"trl:{name}": "trainer" for name in TRAINERS}},
)


@framework.function(*(f"trl:{name}" for name in CONFIGS))
def config(call: Call) -> Value:
    """A settings class of trl."""
    made = call.make("training_args", call.name)
    record_arguments(made, call)
    _defaults(call, made)
    return of(made)


def _defaults(call: Call, made: Object) -> None:
    if call.last in CHECKPOINT_BY_DEFAULT and at_least(call.it, "trl", "0.19.0"):
        made.state["default:gradient_checkpointing"] = TRUE
        if call.last == "SFTConfig" and not at_least(call.it, "transformers", "5.0.0"):
            made.state["reentrant_default"] = FALSE


@framework.function(*(f"trl:{name}" for name in TRAINERS))
def trainer(call: Call) -> Value:
    """A trainer of trl: a model by name is loaded, adapters are made from peft_config."""
    it = call.it
    made = make_trainer(call).objects()[0]
    made.attributes["model"] = _loaded(call, made.attributes.get("model", NOTHING))
    config_given = call.get("peft_config", None, NONE)
    for guard, item in config_given:
        if isinstance(item, Object):
            with it.under(guard) as possible:
                if possible:
                    adapt(it, made.attributes["model"], of(item), call, TRUE)
                    for model in made.attributes["model"].objects():
                        set_state(it, model, "input_grads", TRUE, FALSE)
    return of(made)


def _loaded(call: Call, model: Value) -> Value:
    parts: list[tuple[Guard, Alternative]] = []
    for guard, item in model:
        if isinstance(item, Const) and isinstance(item.value, str):
            made = load_model(Call(call.it, call.site, "transformers.AutoModelForCausalLM.from_pretrained", [of(item)]))
            call.it.emit(ModelLoaded(call.it.moment(site=call.site), made))
            parts.append((guard, made))
        else:
            parts.append((guard, item))
    return Value(parts)
