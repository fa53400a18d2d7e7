"""diffusers: models and pipelines, and their own checkpointing.

enable_gradient_checkpointing() calls torch's with use_reentrant=False, whatever transformers does, unless it is given
a function (modeling_utils.py, 0.42.1); from_pretrained leaves a model in evaluation mode, from_config in training mode.
"""

from __future__ import annotations

import ast

from ..ir.syntax import Site, parameters
from ..run.calls import Call
from ..run.events import CheckpointingEnabled, ModelLoaded
from ..run.interpreter import Interpreter
from ..run.names import class_attribute
from ..run.values import (
    FALSE,
    NONE,
    TRUE,
    Alternative,
    Class,
    Const,
    External,
    Function,
    Object,
    Partial,
    Value,
    of,
    union,
)
from .registry import Framework
from .torch_checkpoint import checkpointing_object, turn_on
from .transformers import load_model

NO_MODELS = ("Scheduler", "SchedulerMixin", "Processor", "Config", "Blocks", "Guidance", "EMAModel", "Mel")
PIPELINES = ("SanaWMLTX2Refiner",)  # besides those that are called a pipeline
# models that diffusers holds and that derive from transformers' PreTrainedModel (0.42.1)
OF_TRANSFORMERS = frozenset(
    {
        "Blip2QFormerModel", "Blip2VisionModel", "ChatGLMModel", "ContextCLIPTextModel", "IFSafetyChecker",
        "LDMBertEncoder", "LDMBertModel", "MultilingualCLIP", "PaintByExampleImageEncoder",
        "RobertaSeriesModelWithTransformation", "SafeStableDiffusionSafetyChecker", "StableDiffusionSafetyChecker",
    }
)  # fmt: skip
PARTS = ("unet", "transformer", "vae", "controlnet", "prior")
ENCODERS = ("text_encoder", "text_encoder_2", "text_encoder_3", "image_encoder", "safety_checker")

framework = Framework(
    "diffusers", kinds={"diffusers_model": "model"}, bases={"diffusers:ModelMixin": "diffusers_model"}
)


def loaded(owner: str) -> str:
    """What from_pretrained of a class gives: "model", "pipeline" or "other"."""
    if owner.endswith(NO_MODELS):
        return "other"
    return "pipeline" if "Pipeline" in owner or owner in PIPELINES else "model"


@framework.function("diffusers:from_pretrained", "diffusers:from_single_file", "diffusers:from_config")
def from_pretrained(call: Call) -> Value | None:
    """A model or a pipeline; schedulers and the like are something else."""
    owner = call.name.split(".")[-2]
    kind = loaded(owner)
    if kind == "other":
        return None
    if kind == "pipeline":
        return of(call.it.new("pipeline", call.name, "", call.site))
    made = load_model(call, _by_its_settings(call, call.owner) if call.owner is not None else None)
    if owner in OF_TRANSFORMERS:
        made.type = f"transformers.{owner}.{call.last}"
    else:
        made.kind = "diffusers_model"
    if call.last == "from_config":
        made.state["training"], made.state["pretrained"] = TRUE, FALSE
    call.it.emit(ModelLoaded(call.it.moment(site=call.site), made))
    return of(made)


def _by_its_settings(call: Call, owner: Class) -> Call:
    """The call of a constructor of the project's: by name with what the configuration says, and with what is given
    besides, which replaces that (configuration_utils.py, `ConfigMixin.extract_init_dict`). A loaded one may say more.
    """
    taken = {arg.arg for item in _constructors(owner) for arg, _ in parameters(item.node.args)}
    config = call.get("config", 0, NONE).only() if call.last == "from_config" else None
    said = config.entries or {} if isinstance(config, Object) else {}
    settings = {str(name): value for name, value in {**said, **call.keywords}.items() if name in taken}
    return Call(call.it, call.site, owner.name, [], settings, open=True)


def _constructors(owner: Class) -> list[Function]:
    held = class_attribute(owner, "__init__") or Value(())
    return [item for _, item in held if isinstance(item, Function)]


@framework.function("diffusers:from_unet")
@framework.family(
    r"diffusers:(?!EMAModel|OnnxRuntimeModel|AutoModel)\w*(Model|UNet|Transformer)",
    r"diffusers:(Asymmetric)?Autoencoder(?!Mixin|\w*(Output|Block|Factory))\w*",
)
def construct(call: Call) -> Value:
    """A model from its settings, or from those of a UNet, in training mode."""
    made = call.make("diffusers_model", call.name)
    made.state.setdefault("training", TRUE)
    call.it.emit(ModelLoaded(call.it.moment(site=call.site), made))
    return of(made)


@framework.attribute("pipeline", *PARTS, *ENCODERS)
def part_of_pipeline(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """A model that the pipeline loaded, in evaluation mode; the encoders are those of transformers."""
    site: Site | None = item.site
    kind, library = ("model", "transformers") if name in ENCODERS else ("diffusers_model", "diffusers")
    made = it.new(kind, f"{library}.pipeline", f"{item.text}.{name}", site)
    made.state["training"], made.state["pretrained"] = FALSE, TRUE
    item.attributes[name] = of(made)
    return item.attributes[name]


@framework.method("diffusers_model", "enable_gradient_checkpointing")
def enable(call: Call) -> Value:
    """model.enable_gradient_checkpointing(): not reentrant, unless the function that is given is."""
    assert call.receiver is not None
    given = call.get("gradient_checkpointing_func", 0, NONE)
    reentrant = union(_reentrant(call, item).under(guard) for guard, item in given)
    made = checkpointing_object(call.it, call.site, "diffusers", reentrant)
    turn_on(call.it, call.receiver, made)
    call.it.emit(CheckpointingEnabled(call.it.moment(site=call.site), call.receiver, made))
    return NONE


def _reentrant(call: Call, function: Alternative) -> Value:
    if function == Const(None):
        return FALSE
    inner = function.function if isinstance(function, Partial) else function
    if not isinstance(inner, External) or not inner.name.endswith("checkpoint.checkpoint"):
        return of(call.it.unknown("use_reentrant"))
    return function.keywords.get("use_reentrant", TRUE) if isinstance(function, Partial) else TRUE
