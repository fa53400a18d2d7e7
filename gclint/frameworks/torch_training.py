"""torch: checkpointing, tensors, autograd, optimizers, data, and contexts."""

from __future__ import annotations

from ..analysis.calls import Call
from ..analysis.events import (
    Backward,
    CheckpointCall,
    ForwardPatched,
    LibraryCall,
    OptimizerBuilt,
    OptimizerStep,
)
from ..analysis.guards import CUDA, ROCM
from ..analysis.interpreter import Interpreter
from ..analysis.syntax import Site
from ..analysis.values import (
    FALSE,
    NONE,
    NOTHING,
    TRUE,
    Const,
    Object,
    Value,
    assigned,
    const,
    of,
    root,
    union,
)
from .registry import Framework

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


def checkpointing_object(it: Interpreter, site: Site, by: str, reentrant: Value) -> Object:
    """Checkpointing as a fact about a model: what turned it on, where, and whether it is reentrant."""
    made = it.new("checkpointing", by, "", site)
    made.attributes["reentrant"] = reentrant
    return made


def turn_on(it: Interpreter, model: Object, checkpointing: Object) -> None:
    """A model checkpoints from here on, under the current guard; beside what it did before."""
    held = model.state.get("checkpointing", FALSE)
    made = assigned(it.guard - it.run.assumed, of(checkpointing), held)
    model.state["checkpointing"] = union(
        [
            made,
            Value(
                (guard, item) for guard, item in held if isinstance(item, Object) and item.type != checkpointing.type
            ),
        ]
    )


# Checkpointing


CHECKPOINT_OPTIONS = (
    "function",
    "functions",
    "segments",
    "input",
    "use_reentrant",
    "preserve_rng_state",
    "context_fn",
    "determinism_check",
    "debug",
    "early_stop",
)


@framework.function("torch:checkpoint", "torch:checkpoint_sequential")
def checkpoint(call: Call) -> Value | None:
    """A region is recomputed in backward; the module whose forward runs checkpoints."""
    it = call.it
    if call.name.endswith("utils.checkpoint") and call.name != "torch.utils.checkpoint.checkpoint":
        return None
    sequential = call.last == "checkpoint_sequential"
    skip = 2 if sequential else 1
    reentrant = call.get("use_reentrant", None, NOTHING if not call.open else of(it.unknown("**")))
    function = call.get("functions" if sequential else "function", 0)
    arguments = tuple(call.positional[skip:])
    announce(it, CheckpointCall(it.moment(site=call.site), call, function, arguments, reentrant, sequential))
    passed = {name: value for name, value in call.keywords.items() if name not in CHECKPOINT_OPTIONS}
    inner = Call(it, call.site, "checkpointed", list(arguments), passed, call.open, dict(call.places))
    return it.call(function, inner)


@framework.decorator("torch.utils.checkpoint.checkpoint")
def checkpoint_decorator(call: Call) -> Value:
    """`@checkpoint`: the function is called at once; what it was stays known, so that the walk goes on."""
    name = f"@{call.name}"
    call.it.emit(LibraryCall(call.it.moment(site=call.site), name, call, call.positional[0]))
    return call.positional[0]


def announce(it: Interpreter, event: CheckpointCall) -> None:
    """A region begins: the models whose forward is running checkpoint from here on."""
    it.run.facts.setdefault("regions", {})[event.site.node_id] = event
    it.emit(event)
    region = checkpointing_object(it, event.site, "call", event.reentrant or TRUE)
    for item in it.forwards:
        turn_on(it, root(item), region)


@framework.setter("module", "forward")
@framework.setter("unknown", "forward")
def probe_patched_forward(it: Interpreter, item: Object, value: Value, node: object) -> None:
    """A replaced forward is walked once, with arguments nobody knows, to see whether it checkpoints."""
    if item in it.forwards:
        return
    held, it.expression_statement = it.expression_statement, None
    it.forwards.append(item)
    site = it.site(node)  # type: ignore[arg-type]
    before = len(it.run.events)
    try:
        it.call(value, Call(it, site, "forward", [of(it.unknown("x", site))]))
    finally:
        it.forwards.pop()
        it.expression_statement = held
    again = "forward" in item.attributes and item.known("checkpointed_forward").constant() is True
    regions = sum(isinstance(event, CheckpointCall) for event in it.run.events[before:])
    item.state["checkpointed_before"] = const(again and regions > 1)
    item.state["checkpointed_forward"] = const(regions > 0)


@framework.attribute("module", "__dict__")
def instance_dict(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """The names set on a module itself, a patched forward among them."""
    made = it.new("instance_dict", "", "__dict__")
    made.attributes["of"] = of(item)
    return of(made)


@framework.method("instance_dict", "pop")
def forget_patch(call: Call) -> Value:
    """`module.__dict__.pop("forward")` gives a module back the forward of its class."""
    assert call.receiver is not None
    held: list[Value] = []
    key = call.get("", 0).constant()
    for item in call.receiver.attributes["of"].objects():
        for target in (event.target for event in call.run.of_type(ForwardPatched)):
            if root(target) is root(item) and key in target.attributes:
                held.append(target.attributes.pop(key))
                call.it.emit(ForwardPatched(call.it.moment(site=call.site), target, NOTHING))
    return union(held) if held else call.unknown()


# Tensors


@framework.function(
    "torch.randn",
    "torch.rand",
    "torch.zeros",
    "torch.ones",
    "torch.randint",
    "torch.tensor",
    "torch.arange",
    "torch.full",
    "torch.empty",
    "torch.as_tensor",
    "torch.from_numpy",
    "torch.eye",
    "torch.linspace",
)
def make_tensor(call: Call) -> Value:
    """A new tensor: no gradient flows to it unless it asks for one."""
    made = call.it.new("tensor", "torch.Tensor", "", call.site)
    wanted = call.get("requires_grad", None, FALSE)
    made.state["grad"] = wanted
    return of(made)


@framework.method(
    "tensor",
    "to",
    "cuda",
    "cpu",
    "float",
    "half",
    "long",
    "view",
    "reshape",
    "detach",
    "clone",
    "contiguous",
    "unsqueeze",
    "squeeze",
    "flatten",
    "transpose",
    "permute",
    "type",
    "bfloat16",
)
def same_tensor(call: Call) -> Value:
    """The same data in another shape, place or dtype."""
    assert call.receiver is not None
    made = call.it.derived(call.site, [of(call.receiver)])
    made.kind = call.receiver.kind
    if call.name.rsplit(".", 1)[-1] in ("detach", "long"):
        made.state["grad"] = FALSE
    return of(made)


@framework.method("tensor", "requires_grad_")
def tensor_requires_grad(call: Call) -> Value:
    """A tensor asks for its gradient."""
    assert call.receiver is not None
    call.receiver.state["grad"] = call.get("requires_grad", 0, TRUE)
    return of(call.receiver)


@framework.setter("tensor", "requires_grad")
def tensor_set_requires_grad(it: Interpreter, item: Object, value: Value, node: object) -> None:
    """`x.requires_grad = True`."""
    item.state["grad"] = value


@framework.method("unknown", "requires_grad_")
def unknown_requires_grad(call: Call) -> Value:
    """Something asks for its gradient: it is a tensor, or a module."""
    assert call.receiver is not None
    call.receiver.state["grad"] = call.get("requires_grad", 0, TRUE)
    return of(call.receiver)


@framework.function("torch.utils.data.DataLoader", "torch:DataLoader")
def make_loader(call: Call) -> Value:
    """Batches of data: no gradient flows to them."""
    made = call.make("loader", "torch.utils.data.DataLoader")
    made.attributes.update(call.keywords)
    return of(made)


@framework.element("loader")
def one_batch(it: Interpreter, item: Object, site: Site) -> Value | None:
    """One batch that stands for all."""
    made = it.new("data", "", "batch", site)
    made.state["grad"] = FALSE
    return of(made)


@framework.element("data")
def part_of_batch(it: Interpreter, item: Object, site: Site) -> Value | None:
    """A part of a batch is data as well."""
    made = it.new("data", "", f"{item.label}[...]", site)
    made.state["grad"], made.each, made.origins = item.state.get("grad", FALSE), True, item.origins
    made.parent = item
    return of(made)


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
    forwards = {
        origin: None
        for item in loss.objects()
        for origin in sorted(item.origins, key=lambda o: o.id)
        if origin.kind == "activation"
    }
    call.it.emit(Backward(call.it.moment(site=call.site), loss, tuple(forwards), dict(call.keywords)))


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
    )
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


CONTEXTS = (
    "torch.no_grad",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.autocast",
    "torch.amp.autocast",
    "torch.cuda.amp.autocast",
    "torch.set_grad_enabled",
    "torch.device",
    "torch.random.fork_rng",
    "torch.autograd.set_detect_anomaly",
    "torch.autograd.graph.save_on_cpu",
    "torch.autograd.graph.saved_tensors_hooks",
    "contextlib.nullcontext",
    "torch.cpu.amp.autocast",
)


@framework.function(*CONTEXTS)
def make_context(call: Call) -> Value:
    """A context manager, or a decorator made of it."""
    made = call.make("context", call.name)
    made.attributes.update(call.keywords)
    if call.positional:
        made.attributes["argument"] = call.positional[0]
    return of(made)


@framework.constant("torch.version.hip")
def hip_version(it: Interpreter) -> Value:
    """Set on ROCm builds of torch, None on others."""
    it.run.facts["asks_rocm"] = True
    return Value(
        [(frozenset({(ROCM, True)}), const("hip").alternatives[0][1]), (frozenset({(ROCM, False)}), Const(None))]
    )


@framework.function("torch.cuda.is_available")
def cuda_available(call: Call) -> Value:
    """True with a GPU."""
    return Value([(frozenset({(CUDA, True)}), Const(True)), (frozenset({(CUDA, False)}), Const(False))])
