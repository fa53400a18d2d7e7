"""unsloth: models with its own checkpointing, and adapters on them.

unsloth's `use_gradient_checkpointing` is its own reentrant autograd function ("unsloth") or transformers'
checkpointing, made reentrant (True); see `../seeds` for the failure under DDP. Two releases narrowed that failure: from
2025.12.8 on FastModel and FastVisionModel are not reentrant under plain DDP (models/vision.py, post_patch_model), and
from 2026.10.6 on a trainer picks find_unused_parameters=False for adapters that every step uses
(models/_ddp_defaults.py; looked up in the releases 2026.9.4, 2026.10.1 and 2026.10.5 to 2026.10.9).
"""

from __future__ import annotations

from ..run.calls import Call
from ..run.comparison import truths
from ..run.events import ModelLoaded
from ..run.values import FALSE, NONE, TRUE, Const, Value, assigned, const, of
from .peft import adapt
from .registry import Framework
from .sharding import PLAIN_DDP
from .torch_modules import set_state
from .transformers import at_least, enable_checkpointing, load_model
from .transformers_trainer import make_trainer, record_arguments

framework = Framework(
    "unsloth", bases={"unsloth:UnslothTrainer": "trainer", "unsloth:UnslothTrainingArguments": "training_args"}
)

OF_ANY_KIND = ("FastModel", "FastVisionModel")
SKIPPABLE = ("expert", "vision", "visual", "audio", "image", "projector", "mtp", "lm_head", "embed")


@framework.function("unsloth:from_pretrained")
def from_pretrained(call: Call) -> Value:
    """(model, tokenizer)."""
    model = load_model(call)
    model.state["name"] = call.get("model_name", 0, Value(()))
    whole = call.get("full_finetuning", None, FALSE).constant() is True  # which turns quantisation off (loader.py)
    model.state["load_in_4bit"] = FALSE if whole else call.get("load_in_4bit", 3, TRUE)
    model.state["unsloth"] = TRUE
    call.it.emit(ModelLoaded(call.it.moment(site=call.site), model))
    pair = call.it.new("tuple", "", "", call.site)
    pair.items = [of(model), of(call.it.unknown("tokenizer", call.site))]
    return of(pair)


@framework.function("unsloth:get_peft_model")
def get_peft_model(call: Call) -> Value:
    """Adapters, and checkpointing unless it is turned off."""
    it = call.it
    config = it.new("adapter_config", "peft.LoraConfig", "", call.site)
    config.attributes.update(call.keywords)
    adapt(it, call.get("model", 0), of(config), call, TRUE)
    for model in call.get("model", 0).objects():
        set_state(it, model, "input_grads", TRUE, FALSE)
        for guard, item in call.get("use_gradient_checkpointing", None, const("unsloth")):
            for decided, truth in truths(it, item):
                with it.under(guard | decided) as possible:
                    if possible and truth:
                        place = call.place("use_gradient_checkpointing")
                        made = enable_checkpointing(it, model, _reentrant(call), place, "unsloth")
                        made.attributes["setting"] = Value([(guard, item)])
                        set_state(it, model, "picked_find_unused", const(not _all_are_used(call)), TRUE)
    return call.get("model", 0)


def _reentrant(call: Call) -> Value:
    owner = call.name.split(".")[-2]
    if owner in OF_ANY_KIND and at_least(call.it, "unsloth", "2025.12.8"):
        return assigned(PLAIN_DDP, FALSE, TRUE)
    return TRUE


def _all_are_used(call: Call) -> bool:
    """Whether a trainer sees that every step uses every adapter."""
    if call.name.split(".")[-2] in OF_ANY_KIND or not at_least(call.it, "unsloth", "2026.10.6"):
        return False
    if any(call.get(name, None, NONE).only() != Const(None) for name in ("modules_to_save", "target_parameters")):
        return False
    targets = [value.constant() for item in call.get("target_modules").objects() for value in item.items or []]
    return not any(part in str(target) for target in targets for part in SKIPPABLE)


@framework.function("unsloth:for_training", "unsloth:for_inference")
def for_mode(call: Call) -> Value:
    """Training or inference mode."""
    for model in call.get("model", 0).objects():
        set_state(call.it, model, "training", const(call.last == "for_training"))
    return call.get("model", 0)


@framework.function("unsloth:UnslothTrainer")
def trainer(call: Call) -> Value:
    """unsloth's trainer: trl's SFTTrainer."""
    return make_trainer(call)


@framework.function("unsloth:UnslothTrainingArguments")
def arguments(call: Call) -> Value:
    """unsloth's settings: trl's SFTConfig."""
    made = call.make("training_args", call.name)
    record_arguments(made, call)
    return of(made)
