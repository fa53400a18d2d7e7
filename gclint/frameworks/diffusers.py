"""diffusers: models and pipelines, and their own checkpointing.

enable_gradient_checkpointing() calls torch's with use_reentrant=False (modeling_utils.py, 0.42.1), whatever
transformers does; from_pretrained leaves a model in evaluation mode, from_config in training mode.
"""

from __future__ import annotations

import libcst as cst

from ..analysis.calls import Call
from ..analysis.events import CheckpointingEnabled, ModelLoaded
from ..analysis.interpreter import Interpreter
from ..analysis.syntax import Site
from ..analysis.values import FALSE, NONE, TRUE, Object, Value, of
from .registry import Framework
from .torch_checkpoint import checkpointing_object, turn_on
from .transformers import load_model

NO_MODELS = ("Scheduler", "Processor", "Config", "Tokenizer", "FeatureExtractor")
PIPELINES = ("Pipeline", "AutoPipelineForText2Image", "AutoPipelineForImage2Image", "AutoPipelineForInpainting")
PARTS = ("unet", "transformer", "vae", "controlnet", "prior")
ENCODERS = ("text_encoder", "text_encoder_2", "text_encoder_3", "image_encoder", "safety_checker")

framework = Framework(
    "diffusers", kinds={"diffusers_model": "model"}, bases={"diffusers:ModelMixin": "diffusers_model"}
)


@framework.function("diffusers:from_pretrained", "diffusers:from_single_file", "diffusers:from_config")
def from_pretrained(call: Call) -> Value | None:
    """A model or a pipeline; schedulers and the like are something else."""
    owner = call.name.split(".")[-2] if "." in call.name else ""
    if owner.endswith(NO_MODELS):
        return None
    if owner.endswith(PIPELINES):
        return of(call.it.new("pipeline", call.name, "", call.site))
    made = load_model(call)
    made.kind = "diffusers_model"
    if call.last == "from_config":
        made.state["training"], made.state["pretrained"] = TRUE, FALSE
    call.it.emit(ModelLoaded(call.it.moment(site=call.site), made))
    return of(made)


@framework.family(r"diffusers:\w+(UNet\w*Model|Transformer\w*Model|ControlNetModel)|UNet\w*Model|AutoencoderKL\w*")
def construct(call: Call) -> Value:
    """A model from its settings, in training mode."""
    made = call.make("diffusers_model", call.name)
    made.state.setdefault("training", TRUE)
    call.it.emit(ModelLoaded(call.it.moment(site=call.site), made))
    return of(made)


@framework.attribute("pipeline", *PARTS, *ENCODERS)
def part_of_pipeline(it: Interpreter, item: Object, name: str, node: cst.CSTNode) -> Value | None:
    """A model that the pipeline loaded, in evaluation mode."""
    site: Site | None = item.site
    made = it.new("model" if name in ENCODERS else "diffusers_model", "diffusers.pipeline", f"{item.text}.{name}", site)
    made.state["training"], made.state["pretrained"] = FALSE, TRUE
    item.attributes[name] = of(made)
    return item.attributes[name]


@framework.method("diffusers_model", "enable_gradient_checkpointing")
def enable(call: Call) -> Value:
    """model.enable_gradient_checkpointing(): never reentrant."""
    assert call.receiver is not None
    made = checkpointing_object(call.it, call.site, "diffusers", FALSE)
    turn_on(call.it, call.receiver, made)
    call.it.emit(CheckpointingEnabled(call.it.moment(site=call.site), call.receiver, made))
    return NONE
