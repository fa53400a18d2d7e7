"""torch: what stands between backward and the optimizer's step: loss scaling, clipping, clearing gradients."""

from __future__ import annotations

from ..ir.syntax import Site
from ..run.arithmetic import scale_of
from ..run.calls import Call
from ..run.comparison import truths
from ..run.events import Backward, GradientsCleared, GradientsClipped, OptimizerStep, ScalerUsed, StateFilled
from ..run.guards import DEEPSPEED
from ..run.values import NONE, NOTHING, TRUE, Object, Value, of, sources, union
from .registry import Framework
from .settings import with_settings

framework = Framework("torch.step", kinds={"scaler": "unknown"})


@framework.function("torch:GradScaler", "torch:ShardedGradScaler")
def make_scaler(call: Call) -> Value:
    """A gradient scaler: the loss is multiplied before backward, the gradients divided before the step."""
    made = with_settings(call, "scaler")
    made.state["enabled"] = call.get("enabled", None, TRUE)
    return of(made)


def _used(call: Call, operation: str, given: Value) -> None:
    """A scaler is used where it is enabled: one that is not hands the loss and the step on."""
    assert call.receiver is not None
    for guard, item in call.receiver.state.get("enabled", TRUE):
        for decided, truth in truths(call.it, item):
            with call.it.under(guard | decided) as possible:
                if possible and truth:
                    call.it.emit(ScalerUsed(call.it.moment(site=call.site), call.receiver, operation, given))


@framework.method("scaler", "is_enabled")
def is_enabled(call: Call) -> Value:
    """What the scaler was made with."""
    assert call.receiver is not None
    return call.receiver.state.get("enabled", TRUE)


@framework.method("scaler", "scale")
def scale(call: Call) -> Value:
    """The loss, multiplied; what is computed from it remembers the scaler."""
    loss = call.get("outputs", 0)
    _used(call, "scale", loss)
    made = call.it.derived(call.site, [loss])
    made.kind = "tensor"
    scale_of(made, loss)
    made.state["scaled"] = of(call.receiver) if call.receiver is not None else NONE
    return of(made)


@framework.method("scaler", "unscale_", "update")
def unscale(call: Call) -> Value:
    """The gradients divided by the scale; the scale adapted."""
    _used(call, call.last, call.get("optimizer", 0))
    return NONE


@framework.method("scaler", "step")
def step(call: Call) -> Value:
    """The optimizer's step, on gradients divided by the scale."""
    given = call.get("optimizer", 0)
    _used(call, "step", given)
    for guard, item in given:
        with call.it.under(guard) as possible:
            if possible and item in given.objects():
                call.it.emit(OptimizerStep(call.it.moment(site=call.site), item, call.receiver))  # type: ignore[arg-type]
    return NONE


@framework.function(
    "torch.nn.utils.clip_grad_norm_",
    "torch.nn.utils.clip_grad_value_",
    "torch.nn.utils.clip_grad.clip_grad_norm_",
    "torch.nn.utils.clip_grad.clip_grad_value_",
    "torch.nn.utils.clip_grad_norm",
    "torch.nn.utils.clip_grad.clip_grad_norm",
)
def clip(call: Call) -> Value:
    """Gradients are clipped as they are now."""
    call.it.emit(GradientsClipped(call.it.moment(site=call.site), call.get("parameters", 0), call))
    return call.unknown()


@framework.method("accelerator", "clip_grad_norm_", "clip_grad_value_")
def clip_by_accelerate(call: Call) -> Value:
    """The same, of gradients that accelerate divides by the scale before; under DeepSpeed, which clips by itself as its
    own settings say, nothing (accelerate/accelerator.py, `clip_grad_norm_`).
    """
    return call.unknown() if (DEEPSPEED, True) in call.it.guard else clip(call)


@framework.method("*", "zero_grad")
def zero_grad(call: Call) -> Value:
    """The gradients of an optimizer's parameters are set to nothing; of something unknown, by the method's name."""
    assert call.receiver is not None
    call.it.emit(GradientsCleared(call.it.moment(site=call.site), call.receiver))
    return NONE


@framework.method("*", "zero_", "fill_", "mul_", "copy_")
def changed_by_hand(call: Call) -> Value | None:
    """A gradient that is set by hand, or its data: `w.grad.zero_()`; a tensor of a state that is copied into."""
    if call.last == "mul_" and _limits(call):
        return None
    if call.receiver is not None and call.receiver.text.endswith((".grad", ".grad.data")):
        call.it.emit(GradientsCleared(call.it.moment(site=call.site), call.receiver))
    state = call.receiver if call.last == "copy_" else None
    while state is not None and state.type != "state_dict":
        state = state.parent
    if state is not None:
        call.it.emit(StateFilled(call.it.moment(site=call.site), state.attributes["of"], call.get("src", 0)))
    return None


def _limits(call: Call) -> bool:
    """Whether gradients are multiplied by what was computed from gradients: a function of the project that does so
    clips them where it is called, unless it does the steps as well.
    """
    it, limited = call.it, _gradients(of(call.receiver) if call.receiver is not None else NOTHING)
    if not limited or not _gradients(call.get("other", 0)) or it.frame.function is None:
        return False
    parameters = union(of(each.parent) for each in limited if each.parent is not None)

    def clipped(site: Site) -> None:
        steps = (each for each in it.run.of_type(Backward, OptimizerStep) if site in each.moment.stack)
        if next(steps, None) is None:
            it.emit(GradientsClipped(it.moment(site=site), parameters))

    it.frame.at_end = clipped
    return True


def _gradients(value: Value) -> list[Object]:
    """The gradients of parameters that something is, or was computed from."""
    found = [*value.objects(), *sources(value)]
    return [each for each in dict.fromkeys(found) if each.text.rpartition(".")[2] == "grad" and each.parent is not None]


@framework.method("unknown", "add_", "sub_", "addcmul_", "addcdiv_", "addmm_", "addmv_", "addr_", "addbmm_", "baddbmm_")
def changed_in_place(call: Call) -> Value:
    """Arithmetic that changes a tensor in place, and gives it: it is computed from all that goes into it."""
    return call.unknown()


@framework.function("torch.nn.init.zeros_", "torch._foreach_zero_")
def zeroed(call: Call) -> Value | None:
    """A gradient that a function sets to zero, or a list of them."""
    for item in call.get("", 0).objects():
        parts = [item, *(each for value in item.items or [] for each in value.objects())]
        if any(part.text.endswith(".grad") for part in parts):
            call.it.emit(GradientsCleared(call.it.moment(site=call.site), item))
    return None
