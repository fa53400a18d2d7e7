"""torch: checkpointing, tensors, autograd, optimizers, data, and contexts."""

from __future__ import annotations

from ..ir.syntax import FUNCTIONS, Site
from ..run import inference
from ..run.arithmetic import went_backward
from ..run.calls import Call
from ..run.elements import ANY
from ..run.events import Backward, OptimizerBuilt, OptimizerStep
from ..run.guards import CUDA, ROCM
from ..run.interpreter import Interpreter
from ..run.values import NONE, NOTHING, TRUE, Const, Function, Object, Value, const, made_from, of
from .registry import SOME_NAME, Framework

DEVICES = "torch.cuda.device_count()"  # of the run's facts: how many there are

framework = Framework(
    "torch",
    kinds={"tensor": "unknown", "data": "tensor", "optimizer": "unknown"},
    bases={"torch:Optimizer": "optimizer", "torch:Dataset": "dataset"},
    imports=dict.fromkeys(
        (
            "transformers",
            "peft",
            "trl",
            "accelerate",
            "unsloth",
            "lightning",
            "pytorch_lightning",
            "torchvision",
            "bitsandbytes",
            "deepspeed",
            "diffusers",
            "timm",
            "fairscale",
            "xformers",
            "sentence_transformers",
            "torchaudio",
            "open_clip",
        ),
        ("torch",),
    ),
)


# Autograd


@framework.method("*", "backward")
def backward(call: Call) -> Value:
    """loss.backward()."""
    assert call.receiver is not None
    emit_backward(call, of(call.receiver))
    return NONE


@framework.function("torch.autograd.backward")
def autograd_backward(call: Call) -> Value:
    """torch.autograd.backward(loss)."""
    emit_backward(call, call.get("tensors", 0))
    return NONE


def emit_backward(call: Call, loss: Value) -> None:
    """Gradients are computed of everything the loss came from."""
    went_backward(loss)
    origins = {origin: None for item in loss.objects() for origin in sorted(item.origins, key=lambda o: o.id)}
    detached = _detached(loss)
    activations = [each for each in origins if each.kind == "activation"]
    forwards = tuple(each for each in activations if each not in detached)
    cut_off = tuple(each for each in activations if each in detached)
    call.it.emit(Backward(call.it.moment(site=call.site), loss, forwards, cut_off, dict(call.keywords)))


def _detached(loss: Value) -> set[Object]:
    """What a loss was computed from only by way of tensors that carry no gradient."""
    waiting, seen = loss.objects(), set[Object]()
    reached, cut = set[Object](), set[Object]()
    while waiting:
        item = waiting.pop()
        if item in seen:
            continue
        seen.add(item)
        if "detached" in item.state:
            cut |= item.origins
            continue
        held = [*(item.items or ()), *(item.entries or {}).values(), item.attributes.get(ANY, NOTHING)]
        sources = made_from(item) + [part for value in held for part in value.objects() if part.parent is not item]
        reached |= item.origins.difference(*(each.origins for each in sources)) | {item}
        waiting += sources
    return cut - reached


# Optimizers


OPTIMIZERS = (
    "AdamW",
    "Adam",
    "SGD",
    "Adagrad",
    "RMSprop",
    "Adafactor",
    "Adamax",
    "NAdam",
    "RAdam",
    "LBFGS",
    "ASGD",
    "Adadelta",
    "Rprop",
    "SparseAdam",
    "ZeroRedundancyOptimizer",
    "AdamW8bit",
    "Adam8bit",
    "PagedAdamW8bit",
    "PagedAdamW32bit",
    "PagedAdamW",
    "Lion",
    "Lion8bit",
    "FusedAdam",
    "DeepSpeedCPUAdam",
    "Muon",
)


@framework.function(
    *(
        f"{top}:{name}"
        for name in OPTIMIZERS
        for top in ("torch", "bitsandbytes", "transformers", "apex", "deepspeed", "lion_pytorch")
    ),
    f"torch.optim.{SOME_NAME}",
)
def make_optimizer(call: Call) -> Value:
    """An optimizer takes hold of parameters."""
    made = call.make("optimizer", call.name)
    parameters = call.get("params", 0)
    made.attributes["params"] = parameters
    made.attributes.update(call.keywords)
    call.it.emit(OptimizerBuilt(call.it.moment(site=call.site), made, parameters))
    return of(made)


@framework.method("optimizer", "step")
def optimizer_step(call: Call) -> Value:
    """The parameters change."""
    assert call.receiver is not None
    call.it.emit(OptimizerStep(call.it.moment(site=call.site), call.receiver))
    return NONE


# Contexts and modes


GRAD_MODES = {True: "torch.enable_grad", False: "torch.no_grad"}
CONTEXTS = (
    "torch.no_grad",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.autograd.inference_mode",
    "torch.autograd.grad_mode.inference_mode",
    "torch.autocast",
    "torch.amp.autocast",
    "torch.cuda.amp.autocast",
    "torch.device",
    "torch.random.fork_rng",
    "torch.autograd.set_detect_anomaly",
    "torch.autograd.graph.save_on_cpu",
    "torch.autograd.graph.saved_tensors_hooks",
    "contextlib.nullcontext",
    "torch.cpu.amp.autocast",
)


OLD_AUTOCAST = ("enabled", "dtype", "cache_enabled")
BY_PLACE = {
    **dict.fromkeys(("torch.autocast", "torch.amp.autocast"), ("device_type", "dtype", "enabled", "cache_enabled")),
    **dict.fromkeys(("torch.cuda.amp.autocast", "torch.cpu.amp.autocast"), OLD_AUTOCAST),
}
"""What a context is given by place (torch/amp/autocast_mode.py, torch/cuda/amp/autocast_mode.py)."""


@framework.function(*CONTEXTS)
def make_context(call: Call) -> Value:
    """A context manager, or a decorator made of it."""
    made = call.make("context", call.name)
    made.attributes.update(zip(BY_PLACE.get(call.name, ("argument",)), call.positional, strict=False))
    made.attributes.update(call.keywords)
    if call.last == "inference_mode":
        call.run.facts[inference.USED] = True
    return of(made)


@framework.decorator("torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.autograd.inference_mode")
def decorated_without_parentheses(call: Call) -> Value:
    """`@torch.no_grad`: the function within such a block (torch/utils/_contextlib.py,
    `_NoParamDecoratorContextManager`).
    """
    for _, item in call.positional[0]:
        if isinstance(item, Function):
            made = call.it.new("context", call.name, "", call.site)
            if call.last == "inference_mode":
                call.run.facts[inference.USED] = True
            call.it.decorations.setdefault(item.node_id, []).append(made)
    return call.positional[0]


@framework.calling("context")
def put_around(call: Call) -> Value:
    """`torch.no_grad()(function)`, as a decorator of the project returns it: the decorated function in such a block."""
    function = call.positional[0].only() if call.positional else None
    decorating = any(frame.site is not None and _decorates(frame.site) for frame in call.it.frames)
    if call.receiver is None or not isinstance(function, Function):
        return call.foreign()
    if decorating:
        call.it.decorations.setdefault(function.node_id, []).append(call.receiver)
    return of(function)


def _decorates(site: Site) -> bool:
    around = site.module.parents.get(site.node)
    return isinstance(around, FUNCTIONS) and site.node in around.decorator_list


@framework.function("torch.set_grad_enabled", "torch.autograd.set_grad_enabled")
def set_grad_mode(call: Call) -> Value:
    """A context manager that sets the mode when it is made, so that it holds on where there is no block
    (torch/autograd/grad_mode.py, `set_grad_enabled.__init__`).
    """
    it, given = call.it, call.get("mode", 0)
    made = call.make("context", GRAD_MODES.get(given.constant(), "torch.set_grad_enabled"))
    made.attributes["argument"] = given
    if it.expression_statement is call.site.node:
        made.type = made.type if it.guard <= it.frame.base else "torch.set_grad_enabled"
        made.state["stays"] = TRUE
        it.contexts[:] = [made, *(each for each in it.contexts if "stays" not in each.state)]
    return of(made)


@framework.function("torch.is_inference_mode_enabled", "torch.is_grad_enabled")
def asked_for_the_mode(call: Call) -> Value:
    """Whether a block of inference_mode is around, in a program, all of whose blocks are known; of gradients, that they
    are off, as checkpoint may turn them off for its regions too.
    """
    it = call.it
    around = [each for each in it.contexts if each.kind == "context"]
    given = [each for each in around if "argument" in each.attributes or "mode" in each.attributes]
    if not it.run.is_program or len(around) != len(it.contexts) or given:
        return call.unknown()
    if call.last == "is_inference_mode_enabled":
        return const(any(each.is_a("inference_mode") for each in around))
    return const(False) if it.moment(site=call.site).unrecorded() is not None else call.unknown()


@framework.constant("torch.version.hip")
def hip_version(it: Interpreter) -> Value:
    """Set on ROCm builds of torch, None on others."""
    it.run.facts["asks_rocm"] = True
    return Value(
        [(frozenset({(ROCM, True)}), const("hip").alternatives[0][1]), (frozenset({(ROCM, False)}), Const(None))]
    )


@framework.function("torch.cuda.device_count")
def device_count(call: Call) -> Value:
    """A number that nobody knows, and the same one for the whole run (torch/cuda/__init__.py keeps it)."""
    held = call.run.facts.get(DEVICES)
    if not isinstance(held, Value):
        held = call.run.facts[DEVICES] = call.unknown()
    return held


@framework.function("torch.cuda.is_available")
def cuda_available(call: Call) -> Value:
    """True with a GPU."""
    return Value([(frozenset({(CUDA, True)}), Const(True)), (frozenset({(CUDA, False)}), Const(False))])
