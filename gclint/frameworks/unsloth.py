"""unsloth: models with its own checkpointing, and adapters on them.

unsloth's `use_gradient_checkpointing` is its own reentrant autograd function ("unsloth") or transformers'
reentrant checkpointing (True); see `../seeds` for the failure under DDP.
"""

from __future__ import annotations

from ..analysis.calls import Call
from ..analysis.conditions import truths
from ..analysis.events import ModelLoaded
from ..analysis.values import FALSE, TRUE, Value, const, of
from .peft import adapt
from .registry import Framework
from .torch_modules import set_state
from .transformers import enable_checkpointing, load_model
from .transformers_trainer import make_trainer, record_arguments

framework = Framework(
    "unsloth", bases={"unsloth:UnslothTrainer": "trainer", "unsloth:UnslothTrainingArguments": "training_args"}
)

MODELS = ("FastLanguageModel", "FastModel", "FastVisionModel", "FastLlamaModel", "FastQwen2Model")


@framework.function("unsloth:from_pretrained")
def from_pretrained(call: Call) -> Value:
    """(model, tokenizer)."""
    model = load_model(call)
    model.state["name"] = call.get("model_name", 0, Value(()))
    model.state["load_in_4bit"] = call.get("load_in_4bit", None, TRUE)
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
            for decided, truth in truths(it, item, call.site.node):  # type: ignore[arg-type]
                with it.under(guard | decided) as possible:
                    if possible and truth:
                        made = enable_checkpointing(
                            it, model, TRUE, call.place("use_gradient_checkpointing"), "unsloth"
                        )
                        made.attributes["setting"] = Value([(guard, item)])
    return call.get("model", 0)


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
