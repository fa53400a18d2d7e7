"""peft: adapters on a model, k-bit preparation, and what is trainable afterwards."""

from __future__ import annotations

import re

from ..run.calls import Call
from ..run.events import Adapted
from ..run.interpreter import Interpreter
from ..run.values import FALSE, NONE, TRUE, Const, Object, Value, const, of, union
from .model_dropout import ADAPTERS_WITHOUT
from .registry import Framework
from .settings import with_settings
from .torch_modules import set_state
from .torch_parameters import holders
from .transformers import at_least, enable_checkpointing, reentrant_of

QUANTISED = re.compile(r"gptq|awq|[_-]?\d-?bits?\b|bnb|int[48]|fp8|quant|hqq|aqlm|gguf|exl2|w\da\d", re.IGNORECASE)
"""Of the names of checkpoints those that say so."""
framework = Framework("peft")

PROMPT_CONFIGS = ("PrefixTuningConfig", "PromptTuningConfig", "PromptEncoderConfig", "P-TuningConfig")


@framework.function(
    *(f"peft:{name}" for name in (*ADAPTERS_WITHOUT, *PROMPT_CONFIGS)),
)
def adapter_config(call: Call) -> Value:
    """The settings of an adapter."""
    made = with_settings(call, "adapter_config")
    made.open = call.open
    return of(made)


@framework.function("peft:get_peft_model")
def get_peft_model(call: Call) -> Value:
    """Adapters are put into the model, in place; everything else is frozen."""
    adapt(call.it, call.get("model", 0), call.get("peft_config", 1), call, trains=TRUE)
    return call.get("model", 0)


def adapt(it: Interpreter, models: Value, config: Value, call: Call, trains: Value) -> None:
    """Record adapters on each model."""
    for guard, model in models.possible(it.guard):
        if not isinstance(model, Object):
            continue
        if model.kind == "unknown":
            model.kind = "model"
            model.state.setdefault("unknown_origin", TRUE)
        with it.under(guard) as possible:
            if possible:
                _adapt(it, model, config, call, trains)


def _adapt(it: Interpreter, model: Object, config: Value, call: Call, trains: Value) -> None:
    adapter = it.new("adapter", call.name, "", call.site)
    adapter.attributes["config"] = config
    set_state(it, model, "adapter", of(adapter), NONE)
    inference = union(item.attributes.get("inference_mode", FALSE) for item in config.objects()) or FALSE
    frozen = inference.constant() is True or trains.constant() is False
    set_state(it, model, "trainable", const("none" if frozen else "adapters"))
    for outer in holders(model) if not frozen else ():
        if Const("none") in [item for _, item in outer.known("trainable")]:
            set_state(it, outer, "trainable", const("some"))
    adapter.state["inference"] = inference
    adapter.state["after_checkpointing"] = Value(
        (guard, Const(isinstance(item, Object))) for guard, item in model.state.get("checkpointing", FALSE)
    )
    if call.last != "add_adapter" and not at_least(it, "transformers", "5.0.0"):
        # peft adds the hook when the model already checkpoints (peft_model.py, _prepare_model_for_gradient...), and
        # transformers' own add_adapter, which puts the adapters in by inject_adapter_in_model, does not
        for guard, item in model.state.get("checkpointing", FALSE):
            if isinstance(item, Object):
                with it.under(guard) as possible:
                    if possible:
                        set_state(it, model, "input_grads", TRUE, FALSE)
    it.emit(Adapted(it.moment(site=call.site), model))


@framework.function("peft:from_pretrained")
def peft_from_pretrained(call: Call) -> Value | None:
    """PeftModel.from_pretrained(base, path, is_trainable=False): adapters that do not train by default."""
    owner = call.name.split(".")[-2]
    if owner.endswith("Config"):
        return adapter_config(call)
    if owner.startswith("Auto"):
        from .transformers import from_pretrained

        made = from_pretrained(call)
        if made is not None:
            adapt(call.it, made, NONE, call, call.get("is_trainable", None, FALSE))
        return made
    adapt(call.it, call.get("model", 0), NONE, call, call.get("is_trainable", 3, FALSE))
    return call.get("model", 0)


@framework.function("peft:prepare_model_for_kbit_training", "peft:prepare_model_for_int8_training")
def prepare_for_kbit(call: Call) -> Value:
    """Freezes the model and, when it is quantised, turns on checkpointing; `{}` falls back to torch's default."""
    it = call.it
    use = call.get("use_gradient_checkpointing", 1, TRUE)
    kwargs = call.get("gradient_checkpointing_kwargs", 2, NONE)
    for guard, model in call.get("model", 0).possible(it.guard):
        if not isinstance(model, Object):
            continue
        if model.kind == "unknown":
            model.kind = "model"
            model.state.setdefault("unknown_origin", TRUE)
        with it.under(guard) as possible:
            if possible:
                set_state(it, model, "trainable", const("none"))
                set_state(it, model, "kbit", of(it.new("kbit", call.name, "", call.site)))
                if use.is_const(True) and is_quantised(model) is not False:
                    _checkpoint(call, model, kwargs)
    return call.get("model", 0)


def _checkpoint(call: Call, model: Object, kwargs: Value) -> None:
    it = call.it
    reentrant = union(
        TRUE.under(held) if item == Const(None) else reentrant_of(it, Value([(held, item)])) for held, item in kwargs
    )
    made = enable_checkpointing(it, model, reentrant, call.site, "kbit")
    made.attributes["kwargs"] = kwargs
    set_state(it, model, "input_grads", TRUE, FALSE)


def is_quantised(model: Object) -> bool | None:
    """Whether a model was loaded in 4 or 8 bit; None when the code does not show it."""
    if "quantization_config" not in model.state:
        return None
    given = [item for fact in ("quantization_config", "load_in_4bit", "load_in_8bit") for _, item in model.known(fact)]
    if model.open:
        return None
    return any(item not in (Const(None), Const(False)) for item in given)


def is_plain(model: Object) -> bool:
    """Whether neither the call nor the name of the checkpoint says that a model is quantised."""
    if model.kind != "model" or is_quantised(model) is not False or model.known("unsloth"):
        return False
    name = model.known("name").constant()
    return model.known("pretrained").constant() is False or (isinstance(name, str) and not QUANTISED.search(name))


@framework.attribute("model", "is_quantized", "is_loaded_in_8bit", "is_loaded_in_4bit")
def says_that_it_is_quantised(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """What only quantised models have (transformers/modeling_utils.py, 5.23)."""
    return FALSE if is_plain(item) else None


@framework.method("model", "add_adapter")
def add_adapter(call: Call) -> Value:
    """model.add_adapter(config): transformers' own way; the model knows of the adapter when it is told to checkpoint
    (`_hf_peft_config_loaded` in modeling_utils.py).
    """
    if call.receiver is not None:
        adapt(call.it, of(call.receiver), call.get("adapter_config", 0), call, TRUE)
        set_state(call.it, call.receiver, "knows_adapter", TRUE, FALSE)
    return NONE


@framework.method("model", "disable_adapter_layers", "disable_adapters")
def disable_adapters(call: Call) -> Value:
    """The adapters do nothing and do not train."""
    if call.receiver is not None:
        set_state(call.it, call.receiver, "trainable", const("none"))
    return NONE


@framework.method("model", "enable_adapter_layers", "enable_adapters", "set_adapter")
def enable_adapters(call: Call) -> Value:
    """The adapters train again."""
    if call.receiver is not None:
        set_state(call.it, call.receiver, "trainable", const("adapters"))
    return NONE


@framework.method("model", "merge_and_unload", "unload", "get_base_model", "base_model")
def merged(call: Call) -> Value:
    """The model itself."""
    return of(call.receiver) if call.receiver is not None else NONE
