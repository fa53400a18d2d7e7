"""trl: trainers for SFT, DPO, GRPO, Reward, KTO and the like, and their settings.

trl's settings classes turn gradient_checkpointing on from 0.22 on, and choose use_reentrant=False on transformers
below 5 from 0.27 on. Its trainers ask for input gradients when they make the adapters, from 0.27 on for any model
with adapters, and use reentrant checkpointing for these under ZeRO-3 (read in 0.19.1, 0.21.0, 0.22.2, 0.24.0, 0.26.2,
0.27.2, 1.0.0 and 1.16.0).
"""

from __future__ import annotations

from ..run.calls import Call
from ..run.events import ModelLoaded
from ..run.guards import Guard
from ..run.values import FALSE, NONE, NOTHING, TRUE, Alternative, Const, Object, Value, const, of
from .deepspeed import configuration, stage
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
CHECKPOINT_BY_DEFAULT = tuple(name for name in CONFIGS if name not in ("GKDConfig", "NashMDConfig", "XPOConfig"))
CHECKPOINTS_SINCE = "0.22.0"
NON_REENTRANT_SINCE = "0.27.0"

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
    if call.last in CHECKPOINT_BY_DEFAULT and at_least(call.it, "trl", CHECKPOINTS_SINCE):
        made.state["default:gradient_checkpointing"] = TRUE
    if at_least(call.it, "trl", NON_REENTRANT_SINCE) and not at_least(call.it, "transformers", "5.0.0"):
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
    if at_least(it, "trl", NON_REENTRANT_SINCE):
        _prepare_adapters(call, made)
    return of(made)


def _prepare_adapters(call: Call, made: Object) -> None:
    """Input gradients for models with adapters, and reentrant checkpointing of these under ZeRO-3."""
    for model in made.attributes["model"].objects():
        for guard, adapter in model.state.get("adapter", NONE):
            with call.it.under(guard) as possible:
                if possible and isinstance(adapter, Object):
                    set_state(call.it, model, "input_grads", TRUE, FALSE)
                    for args in made.attributes.get("args", NOTHING).objects():
                        if _is_zero3(call, args):
                            args.state["reentrant_forced"] = TRUE


def _is_zero3(call: Call, args: Object) -> bool:
    launched = call.run.environment.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", NOTHING).constant()
    given = configuration(call, args.attributes.get("deepspeed", NOTHING))
    return launched == "3" or any(stage(config) == 3 for config in given.objects())


@framework.function("trl:setup_chat_format", "trl:clone_chat_template")
def with_chat_format(call: Call) -> Value:
    """The model and the tokenizer that were given, with tokens more; of `setup_chat_format` with a template that writes
    no begin token but those of the turns (trl/models/utils.py of 0.9 to 0.29, ChatML).
    """
    for item in call.get("tokenizer", 1).objects() if call.last == "setup_chat_format" else ():
        item.attributes["chat_template"] = const("chatml")
    made = call.it.new("tuple", "", "", call.site)
    made.items = [call.get("model", 0), call.get("tokenizer", 1), *([NOTHING] if call.last[0] == "c" else [])]
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
