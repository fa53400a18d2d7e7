"""transformers: models, checkpointing and its defaults by version, TrainingArguments, Trainer.

The version facts are those of section 0 of the catalogue's Hugging Face page, read from the sources of
4.57.6, 5.0.0 and 5.23.0 (`modeling_utils.py`, `trainer.py`, `training_args.py`).
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from ..run import inference
from ..run.calls import Call
from ..run.events import CheckpointingEnabled, Generated, ModelLoaded, ModuleCalled
from ..run.interpreter import Interpreter
from ..run.invocation import instantiate
from ..run.names import class_attribute
from ..run.values import (
    FALSE,
    NONE,
    TRUE,
    Class,
    Const,
    External,
    Function,
    Object,
    Value,
    const,
    of,
    replaced,
    root,
    union,
)
from .key_value_caches import fills_cache
from .model_dropout import DROPS_NOTHING, drops_nothing
from .own_models import tell_modules
from .registry import Framework
from .tokenization import LOADED, make_tokenizer
from .torch_checkpoint import checkpointing_object, turn_on
from .torch_modules import activated, set_state

if TYPE_CHECKING:
    from ..ir.syntax import Site

HEADS = (
    "CausalLM",
    "ConditionalGeneration",
    "SequenceClassification",
    "TokenClassification",
    "QuestionAnswering",
    "MaskedLM",
    "PreTraining",
    "ImageClassification",
    "MultipleChoice",
    "SpeechSeq2Seq",
    "CTC",
)
CLASSES = rf"\w+(For({'|'.join(HEADS)})|LMHeadModel|[A-Za-z0-9]Model)"

framework = Framework(
    "transformers",
    kinds={"model": "module", "output": "unknown"},
    base_families={f"transformers:{CLASSES}": "model"},
    bases={
        "transformers:PreTrainedModel": "model",
        "transformers:Trainer": "trainer",
        "transformers:Seq2SeqTrainer": "trainer",
        "transformers:TrainingArguments": "training_args",
        "transformers:Seq2SeqTrainingArguments": "training_args",
    },
)


def at_least(it: Interpreter, package: str, version: str) -> bool:
    """Whether the target version of a package is this one or later."""
    from packaging.version import Version

    target = it.run.targets.version(package)
    return target is None or target >= Version(version)


# Models


def load_model(call: Call, given: Call | None = None) -> Object:
    """A pretrained model comes into being, in evaluation mode: a library's, or of a class of the project, which is
    `given` its configuration and what stands behind that, or else.
    """
    if call.owner is None:
        made = call.it.new("model", call.name, "", call.site)
    else:
        made = _own_model(call, call.owner, given or _by_its_configuration(call, call.owner))
    made.attributes.setdefault("config", of(call.it.new("config", call.name, "config", call.site)))
    for name in (
        "device_map",
        "max_memory",
        "offload_folder",
        "quantization_config",
        "load_in_4bit",
        "load_in_8bit",
        "offload_state_dict",
    ):
        made.state[name] = call.get(name, None, NONE)
        if call.gives(name):
            made.sites[name] = call.place(name)
    made.state["name"] = call.get("pretrained_model_name_or_path", 0, NONE)
    made.state["dtype"] = _dtype(call.get("torch_dtype", None, call.get("dtype", None, NONE)))
    made.state["training"] = FALSE
    made.state.setdefault("trainable", const("all"))
    made.state["pretrained"] = TRUE
    owner = call.name.removesuffix(".from_pretrained").removesuffix(".from_config").rpartition(".")[2]
    if call.owner is None and drops_nothing(call, owner):
        made.state[DROPS_NOTHING] = TRUE
    made.state["fills_cache"] = const(fills_cache(owner))
    made.open = call.open
    call.run.models.append(made)
    return made


def _by_its_configuration(call: Call, owner: Class) -> Call:
    """The call of the constructor with the configuration that is given or loaded."""
    loaded = of(call.it.new("config", call.name, "config", call.site))
    config = call.get("config", 0 if call.last == "from_config" else None, loaded)
    return Call(call.it, call.site, owner.name, [config, *call.positional[1:]])


def _own_model(call: Call, owner: Class, given: Call) -> Object:
    """A model of a class of the project, its constructor walked."""
    made = instantiate(call.it, owner, given).objects()[0]
    made.kind, made.built = "model", None
    return made


def _dtype(value: Value) -> Value:
    return Value(
        (guard, Const(item.name.rsplit(".", 1)[-1]) if isinstance(item, External) else item) for guard, item in value
    )


@framework.function("transformers:from_pretrained", "transformers:from_config")
def from_pretrained(call: Call) -> Value | None:
    """AutoModel... and concrete model classes; tokenizers, configs and processors are something else."""
    parts = call.name.split(".")
    owner = parts[-2] if len(parts) > 1 else ""
    if owner.endswith(
        ("Tokenizer", "TokenizerFast", "Processor", "Config", "FeatureExtractor", "Pipeline", "Scheduler")
    ):
        if owner.endswith("Config"):
            made = call.it.new("config", call.name, "", call.site)
            made.attributes.update(call.keywords)
            return of(made)
        return make_tokenizer(call) if re.fullmatch(LOADED, owner) else None
    model = load_model(call)
    if call.last == "from_config":
        model.state["training"], model.state["pretrained"] = TRUE, FALSE
    call.it.emit(ModelLoaded(call.it.moment(site=call.site), model))
    return of(model)


# what models call modules, and never a parameter (transformers/models, 5.23.0)
MODULES = (
    "classifier",
    "decoder",
    "embed_tokens",
    "embeddings",
    "encoder",
    "language_model",
    "lm_head",
    "multi_modal_projector",
    "pooler",
    "score",
    "text_model",
    "transformer",
    "vision_model",
    "vision_tower",
)


@framework.family(f"transformers:{CLASSES}")
def construct_model(call: Call) -> Value | None:
    """LlamaForCausalLM(config): a model from its configuration, in training mode."""
    if call.last == "PreTrainedModel":
        return own_pretrained_model(call)
    if call.instance is not None:
        return own_pretrained_model(call)
    model = load_model(call)
    model.state["training"], model.state["pretrained"], model.state["name"] = TRUE, FALSE, NONE
    call.it.emit(ModelLoaded(call.it.moment(site=call.site), model))
    return of(model)


@framework.function("transformers:PreTrainedModel")
def own_pretrained_model(call: Call) -> Value:
    """A class of the project that inherits from PreTrainedModel."""
    made = call.make("model", call.name)
    made.state.setdefault("trainable", const("all"))
    return of(made)


@framework.calling("model")
def call_model(call: Call) -> Value | None:
    """model(**batch): an output whose parts remember the model."""
    assert call.receiver is not None
    item = call.receiver
    if item.type and not isinstance(item.type, str):
        from .torch_modules import call_module

        return call_module(call)
    call.it.emit(ModuleCalled(call.it.moment(site=call.site), item, call))
    made = call.it.derived(call.site, call.positional + list(call.keywords.values()))
    made.kind = "output"
    inference.mark(call.it, made)
    if call.it.forwards:
        return of(made)
    return activated(call, item, of(made))


@framework.method(
    "model",
    "add_model_tags",
    "delete_adapter",
    "init_weights",
    "post_init",
    "push_to_hub",
    "register_for_auto_class",
    "resize_token_embeddings",
    "save_pretrained",
    "set_attn_implementation",
    "tie_weights",
)
def keeps_what_trains(call: Call) -> Value:
    """Methods after which the same parameters train: new embeddings are frozen where the old ones were
    (`_get_resized_embeddings` in transformers/modeling_utils.py).
    """
    return call.unknown()


@framework.method("unknown", "add_tokens", "add_special_tokens")
def add_tokens(call: Call) -> Value:
    """A tokenizer knows further tokens from now on."""
    return call.unknown()


@framework.attribute("model", *MODULES)
@framework.attribute("part", *MODULES)
def module_by_name(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """A part that is a module, and no parameter, in every model of transformers that has it."""
    if root(item).kind != "model":
        return None
    made = it.child(item, name, it.site(node))
    made.state["is_module"] = TRUE
    return of(made)


@framework.method("model", "generate")
def generate(call: Call) -> Value:
    """model.generate(...)."""
    assert call.receiver is not None
    call.it.emit(Generated(call.it.moment(site=call.site), call.receiver, call))
    made = call.it.derived(call.site, call.inputs())
    inference.mark(call.it, made)
    return of(made)


# Checkpointing


def default_reentrant(it: Interpreter) -> Value:
    """What gradient_checkpointing_enable() without kwargs means: reentrant up to 4.57, not from 5.0 on."""
    return const(not at_least(it, "transformers", "5.0.0"))


def reentrant_of(it: Interpreter, kwargs: Value) -> Value:
    """use_reentrant out of gradient_checkpointing_kwargs; torch's own default where the dict leaves it out."""
    parts = []
    for guard, item in kwargs:
        if isinstance(item, Const) and item.value is None:
            parts.append(default_reentrant(it).under(guard))
        elif isinstance(item, Object) and item.entries is not None:
            held = item.entries.get("use_reentrant")
            missing = of(it.unknown("use_reentrant")) if item.open else TRUE
            value = replaced(held, missing) if held is not None else missing
            parts.append(
                Value((inner, Const(True) if part == Const(None) else part) for inner, part in value).under(guard)
            )
        else:
            parts.append(of(it.unknown("use_reentrant")).under(guard))
    return union(parts)


def enable_checkpointing(it: Interpreter, model: Object, reentrant: Value, site: Site, by: str) -> Object:
    """Turn on a transformers model's checkpointing, with what the version does besides."""
    made = checkpointing_object(it, site, by, reentrant)
    turn_on(it, model, made)
    knows = TRUE if at_least(it, "transformers", "5.0.0") else model.state.get("knows_adapter", FALSE)
    for guard in knows.is_const(True):
        with it.under(guard) as possible:
            if possible:
                set_state(it, model, "input_grads", TRUE, FALSE)
    it.emit(CheckpointingEnabled(it.moment(site=site), model, made))
    return made


@framework.method(
    "model", "gradient_checkpointing_enable", "activation_checkpointing_enable", "enable_gradient_checkpointing"
)
def gradient_checkpointing_enable(call: Call) -> Value:
    """model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=...)."""
    assert call.receiver is not None
    kwargs = call.get("gradient_checkpointing_kwargs", 0, call.get("activation_checkpointing_kwargs", None, NONE))
    made = enable_checkpointing(call.it, call.receiver, reentrant_of(call.it, kwargs), call.site, "method")
    tell_modules(call, call.receiver, True)
    for name in ("gradient_checkpointing_kwargs", "activation_checkpointing_kwargs"):
        if name in call.places:
            made.sites["kwargs"] = call.places[name]
    made.attributes["kwargs"] = kwargs
    return NONE


@framework.method("part", "gradient_checkpointing_enable")
@framework.method("unknown", "gradient_checkpointing_enable", "activation_checkpointing_enable")
@framework.method("module", "gradient_checkpointing_enable", "activation_checkpointing_enable")
def enable_on_unknown(call: Call) -> Value:
    """Only transformers models have this: the object is one."""
    assert call.receiver is not None
    if call.receiver.kind == "unknown":
        call.receiver.kind = "model"
        call.receiver.state.setdefault("unknown_origin", TRUE)
    return gradient_checkpointing_enable(call)


@framework.method(
    "model", "gradient_checkpointing_disable", "activation_checkpointing_disable", "disable_gradient_checkpointing"
)
def gradient_checkpointing_disable(call: Call) -> Value:
    """Checkpointing is off again."""
    assert call.receiver is not None
    tell_modules(call, call.receiver, False)
    set_state(call.it, call.receiver, "checkpointing", FALSE, FALSE)
    return NONE


@framework.method("model", "enable_input_require_grads")
@framework.method("unknown", "enable_input_require_grads")
def enable_input_require_grads(call: Call) -> Value:
    """The embedding's output asks for its gradient."""
    assert call.receiver is not None
    set_state(call.it, call.receiver, "input_grads", TRUE, FALSE)
    return NONE


@framework.method("model", "post_init")
def post_init(call: Call) -> Value:
    """The last of a model's own __init__: the weights are made, by the project's `init_weights` where there is one."""
    assert call.receiver is not None
    held = class_attribute(call.receiver.type, "init_weights") if isinstance(call.receiver.type, Class) else None
    own = [(guard, item.bound(call.receiver)) for guard, item in held or () if isinstance(item, Function)]
    if own:
        call.it.call(Value(own), Call(call.it, call.site, "init_weights"))
    return NONE
