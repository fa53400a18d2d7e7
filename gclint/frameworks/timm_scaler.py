"""timm: scalers that are called with a loss and an optimizer, and do the whole of a step.

`NativeScaler` scales the loss, goes backward, unscales and clips where `clip_grad` is given, and steps; apex's does the
same by way of `amp.scale_loss`. `need_update=False` leaves all but backward for later, from 0.9 on; `parameters` was
the fourth argument in 0.3 and is the fifth since (timm/utils/cuda.py of 0.3.2, 0.4.12, 0.9.16, 1.0.20).
"""

from __future__ import annotations

from dataclasses import replace

from ..run.calls import Call
from ..run.comparison import equality, truths
from ..run.guards import Guard, either
from ..run.values import NONE, TRUE, Const, Value
from . import torch_step
from .registry import Framework
from .torch_training import emit_backward

framework = Framework("timm.scaler")


@framework.function("timm:NativeScaler", "timm:ApexScaler")
def make_scaler(call: Call) -> Value:
    """A gradient scaler, enabled whatever it is given."""
    return torch_step.make_scaler(replace(call, positional=[], keywords={}, open=False))


@framework.calling("scaler")
def backward_and_step(call: Call) -> Value:
    """The backward of the scaled loss, then clipping and the optimizer's step where these are asked for."""
    emit_backward(call, torch_step.scale(_part(call, "scale", call.get("loss", 0))))
    optimizer, limit = call.get("optimizer", 1), call.get("clip_grad", 2, NONE)
    with call.it.under(_true(call, call.get("need_update", 6, TRUE))) as steps:
        if not steps:
            return NONE
        with call.it.under(_given(call, limit)) as clips:
            if clips:
                torch_step.unscale(_part(call, "unscale_", optimizer))
                torch_step.clip(_part(call, "clip_grad_norm_", call.get("parameters", 4), limit))
        torch_step.step(_part(call, "step", optimizer))
        torch_step.unscale(_part(call, "update"))
    return NONE


def _part(call: Call, name: str, *given: Value) -> Call:
    """One of the calls that the scaler makes inside, where it is called."""
    return replace(call, name=name, positional=list(given), keywords={}, places={})


def _true(call: Call, value: Value) -> Guard:
    """The guard under which a value is true."""
    return either(held | way for held, item in value for way, truth in truths(call.it, item) if truth)


def _given(call: Call, value: Value) -> Guard:
    """The guard under which a value is something other than None."""
    return either(held | way for held, item in value for way, same in equality(call.it, item, Const(None)) if not same)
