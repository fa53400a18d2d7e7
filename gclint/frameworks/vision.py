"""timm and open_clip: models whose set_grad_checkpointing() wraps torch's checkpoint.

timm leaves use_reentrant to torch (reentrant) up to 1.0.12; from 1.0.13 on it passes False, unless the variable
TIMM_REENTRANT_CKPT or set_reentrant_ckpt() says otherwise (models/_manipulate.py of 0.9.16, 1.0.9, 1.0.12, 1.0.13,
1.0.31; layers/config.py). open_clip leaves it to torch up to 2.31 and passes False from 2.32 on (transformer.py of
2.20, 2.24, 2.29 to 2.32, 3.0, 3.3).
"""

from __future__ import annotations

from ..run.calls import Call
from ..run.events import CheckpointCall, CheckpointingEnabled, ModelLoaded
from ..run.interpreter import Interpreter
from ..run.values import FALSE, NONE, NOTHING, TRUE, Const, Object, Value, assigned, const, of
from .registry import Framework
from .torch_checkpoint import announce, checkpointing_object, turn_on
from .torch_modules import set_state
from .transformers import at_least

framework = Framework("vision", kinds={"vision_model": "module"})


def _model(call: Call) -> Object:
    made = call.it.new("vision_model", call.name, "", call.site)
    made.state["training"], made.state["trainable"] = TRUE, const("all")
    call.run.models.append(made)
    call.it.emit(ModelLoaded(call.it.moment(site=call.site), made))
    return made


@framework.function("open_clip:create_model")
def create_model(call: Call) -> Value:
    """A model in training mode."""
    return of(_model(call))


@framework.function("open_clip:create_model_and_transforms", "open_clip:create_model_from_pretrained")
def create_with_transforms(call: Call) -> Value:
    """The model, and what prepares its images; the model alone where no transform is asked for."""
    if call.get("return_transform", None, TRUE).constant() is False:
        return of(_model(call))
    made = call.it.new("tuple", "", "", call.site)
    count = 2 if call.last == "create_model_and_transforms" else 1
    made.items = [of(_model(call)), *(of(call.it.unknown("preprocess", call.site)) for _ in range(count))]
    return of(made)


@framework.method("vision_model", "set_grad_checkpointing")
def set_checkpointing(call: Call) -> Value:
    """Checkpointing goes on, or off with False."""
    assert call.receiver is not None
    if call.get("enable", 0, TRUE).constant() is False:
        set_state(call.it, call.receiver, "checkpointing", FALSE, FALSE)
        return NONE
    made = checkpointing_object(call.it, call.site, "vision", _default(call, call.receiver))
    turn_on(call.it, call.receiver, made)
    call.it.emit(CheckpointingEnabled(call.it.moment(site=call.site), call.receiver, made))
    return NONE


def _default(call: Call, model: Object | None) -> Value:
    if model is not None and _is_open_clip(model):
        return const(not at_least(call.it, "open-clip-torch", "2.32"))
    return _timm_default(call.it)


def _is_open_clip(model: Object) -> bool:
    return str(model.type).startswith("open_clip")


def _timm_default(it: Interpreter) -> Value:
    if not at_least(it, "timm", "1.0.13"):
        return TRUE
    said = it.run.environment.get("TIMM_REENTRANT_CKPT", NOTHING).constant()
    held: Value = it.run.facts.get("timm_reentrant", const(str(said).lower() in ("1", "true", "yes", "on")))
    return held


@framework.function("timm:set_reentrant_ckpt")
def set_reentrant(call: Call) -> Value:
    """timm's default from here on, for models that checkpoint already too: it is read when a forward runs."""
    guard, wanted = call.it.guard - call.run.assumed, call.get("enable", 0, TRUE)
    call.run.facts["timm_reentrant"] = assigned(guard, wanted, _timm_default(call.it))
    for model in call.run.models:
        for held in model.known("checkpointing").objects():
            if held.type == "vision" and not _is_open_clip(model):
                held.attributes["reentrant"] = assigned(guard, wanted, held.attributes["reentrant"])
    return NONE


@framework.function("timm:checkpoint", "timm:checkpoint_seq")
def checkpoint(call: Call) -> Value:
    """timm's own names for torch's checkpoint, with timm's default."""
    given = call.get("use_reentrant", None, NONE)
    reentrant = _default(call, None) if given.only() == Const(None) else given
    function, arguments = call.get("function", 0, call.get("functions")), tuple(call.positional[1:])
    sequential = call.last == "checkpoint_seq"
    given_to = arguments[:1] if sequential else arguments
    announce(call.it, CheckpointCall(call.it.moment(site=call.site), None, function, given_to, reentrant, sequential))
    if sequential:
        return of(call.it.derived(call.site, list(given_to)))
    return call.it.call(function, Call(call.it, call.site, "checkpointed", list(arguments)))
