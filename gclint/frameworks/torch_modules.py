"""torch.nn: modules, their parameters, forwards, and what is trainable."""

from __future__ import annotations

from ..analysis import containers, names
from ..analysis.calls import Call
from ..analysis.events import (
    Converted,
    Forward,
    GradientsCleared,
    ModuleCalled,
    StateDictLoaded,
    StateDictSaved,
    TrainableChanged,
)
from ..analysis.interpreter import Interpreter
from ..analysis.syntax import Site
from ..analysis.values import (
    FALSE,
    NONE,
    NOTHING,
    TRUE,
    Class,
    External,
    Function,
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
    "torch.nn",
    kinds={"modules": "module", "layer": "module", "part": "module"},
    bases={"torch:Module": "module", "torch:ModuleList": "modules", "torch:Sequential": "modules"},
)

PARAMETRIC = (
    "Linear",
    "Embedding",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "LayerNorm",
    "RMSNorm",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "LSTM",
    "GRU",
    "MultiheadAttention",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "Bilinear",
    "ConvTranspose2d",
    "InstanceNorm2d",
    "SyncBatchNorm",
    "EmbeddingBag",
)
PARAMETERLESS = (
    "Dropout",
    "ReLU",
    "GELU",
    "SiLU",
    "Identity",
    "Softmax",
    "Tanh",
    "Sigmoid",
    "Flatten",
    "MaxPool2d",
    "AvgPool2d",
    "AdaptiveAvgPool2d",
    "LeakyReLU",
    "Dropout2d",
    "Upsample",
    "ELU",
)

MAX_NESTED = 2

SETTINGS = {
    "Dropout": ("p", "inplace"),
    "BatchNorm": ("num_features", "eps", "momentum", "affine", "track_running_stats"),
    "SyncBatchNorm": ("num_features", "eps", "momentum", "affine", "track_running_stats"),
    "ReLU": ("inplace",),
    "SiLU": ("inplace",),
    "ELU": ("alpha", "inplace"),
    "LeakyReLU": ("negative_slope", "inplace"),
}


def set_state(it: Interpreter, item: Object, fact: str, value: Value, default: Value = NOTHING) -> None:
    """Record a fact about an object, under the current guard."""
    held = item.state.get(fact, default)
    item.state[fact] = assigned(it.guard - it.run.assumed, value, held if held else None)


def promote(item: Object) -> None:
    """An unknown object turns out to be a module."""
    if item.kind == "unknown":
        item.kind = "module"


@framework.function("torch:Module")
def make_module(call: Call) -> Value:
    """nn.Module's own constructor."""
    return of(call.make("module"))


@framework.function(*(f"torch.nn.{name}" for name in PARAMETRIC + PARAMETERLESS))
def make_layer(call: Call) -> Value:
    """A layer of torch.nn, with the settings it was given."""
    made = call.make("layer", call.name)
    base = next((name for name in SETTINGS if call.last.startswith(name)), "")
    made.attributes.update(zip(SETTINGS.get(base, ()), call.positional, strict=False))
    made.attributes.update(call.keywords)
    made.sites["inplace"] = call.place("inplace")
    return of(made)


@framework.function(
    "torch.nn.Sequential",
    "torch.nn.ModuleList",
    "torch.nn.ModuleDict",
    "torch.nn.modules.container.ModuleList",
    "torch.nn.modules.container.Sequential",
)
def make_modules(call: Call) -> Value:
    """A container of modules."""
    made = call.make("modules", call.name)
    made.items = []
    listed = call.get("modules", 0)
    item = listed.only()
    if call.last == "ModuleList" and isinstance(item, Object) and item.items is not None:
        made.items, made.each = list(item.items), item.each
    elif call.last == "ModuleDict" and isinstance(item, Object) and item.entries is not None:
        made.items = list(item.entries.values())
    else:
        made.items, made.each = list(call.positional), call.open
    for part in [found for value in made.items for found in value.objects()]:
        part.parent = part.parent or made
        part.each = part.each or made.each
    return of(made)


@framework.method("modules", "append", "add_module", "insert")
def append_module(call: Call) -> Value:
    """One module more in a container."""
    assert call.receiver is not None
    call.receiver.items = [*(call.receiver.items or []), call.positional[-1]]
    if call.it.loops:
        call.receiver.each = True
        for part in call.positional[-1].objects():
            part.each = True
    call.it.library.stored(call.it, call.receiver, call.positional[-1])
    return of(call.receiver)


@framework.method("module", "get_submodule")
def submodule(call: Call) -> Value:
    """module.get_submodule(name): a part of it."""
    assert call.receiver is not None
    made = call.it.new("part", "", f"{call.receiver.label}.get_submodule()", call.site)
    made.parent, made.each = call.receiver, bool(call.it.loops)
    return of(made)


@framework.method("module", "add_module", "register_module")
def add_module(call: Call) -> Value:
    """module.add_module(name, child)."""
    name = names.const_text(call.get("name", 0))
    if name is not None and call.receiver is not None:
        names.assign_attribute(call.it, of(call.receiver), name, call.get("module", 1), call.site.node)
    return NONE


@framework.element("modules")
def element_of_modules(it: Interpreter, item: Object, site: Site) -> Value | None:
    """One module that stands for all of them."""
    return union(item.items) if item.items else None


@framework.calling("module")
def call_module(call: Call) -> Value | None:
    """module(x): its forward, patched or of its class, walked; an activation comes out of the outermost."""
    assert call.receiver is not None
    return run_forward(call, call.receiver, call.receiver.attributes.get("forward"))


def run_forward(call: Call, item: Object, forward: Value | None) -> Value | None:
    """What a module's forward gives: the given one, else that of its class."""
    it = call.it
    if item.kind == "part" and item.label.rsplit(".", 1)[-1] in ("loss", "logits"):
        return None
    if it.forwards.count(item) > MAX_NESTED:
        return call.unknown()
    if forward is None and isinstance(item.type, Class):
        held = names.class_attribute(item.type, "forward")
        if held is not None:
            forward = Value((guard, part.bound(item) if isinstance(part, Function) else part) for guard, part in held)
    outermost = not it.forwards
    it.emit(ModuleCalled(it.moment(site=call.site), item, call))
    it.forwards.append(item)
    inner = Call(it, call.site, item.class_name, call.positional, call.keywords, call.open, call.places)
    try:
        if forward is not None:
            result = it.call(forward, inner)
        elif item.kind == "modules" and item.items and item.class_name == "Sequential":
            result = _chain(inner, item)
        else:
            result = _layer_result(call, item)
    finally:
        it.forwards.pop()
    return activated(call, item, result) if outermost else result


def _chain(call: Call, item: Object) -> Value:
    value = call.get("", 0)
    for part in item.items or []:
        value = call.it.call(part, Call(call.it, call.site, "forward", [value]))
    return value


def activated(call: Call, item: Object, result: Value, through: Object | None = None) -> Value:
    """The result of a model's forward: whatever is computed from it remembers the model."""
    it = call.it
    model = root(item)
    activation = it.new("activation", "", item.label, call.site)
    activation.attributes["of"] = of(model)
    activation.attributes["called"] = of(item)
    if it.moment(site=call.site).inside("no_grad", "inference_mode") is not None:
        it.emit(Forward(it.moment(site=call.site), model, item, activation, through, call))
        return result
    for part in result.objects():
        part.origins |= {activation}
        for inner in [found for value in part.items or [] for found in value.objects()]:
            inner.origins |= {activation}
    if not result.objects():
        made = it.derived(call.site, call.inputs())
        made.origins |= {activation}
        result = of(made)
    it.emit(Forward(it.moment(site=call.site), model, item, activation, through, call))
    return result


def _layer_result(call: Call, item: Object) -> Value:
    made = call.it.derived(call.site, call.positional + list(call.keywords.values()))
    if item.class_name in PARAMETRIC and trainable(item) != "none":
        made.state["grad"] = TRUE
        made.kind = "tensor"
    elif item.class_name in ("Embedding", "EmbeddingBag"):
        made.state["grad"] = FALSE
        made.kind = "tensor"
    elif (item.class_name in PARAMETRIC and "grad" in made.state) or (
        item.class_name in PARAMETERLESS and "grad" in made.state
    ):
        made.kind = "tensor"
    return of(made)


def trainable(item: Object) -> str:
    """ "all", "some", "none" or "adapters": which parameters of a module train, by what the code said last."""
    held: Object | None = item
    while held is not None:
        known = held.state.get("trainable")
        if known is not None:
            return str(known.constant() or "some")
        held = held.parent
    return "all"


# Parameters


@framework.method(
    "module",
    "parameters",
    "named_parameters",
    "modules",
    "named_modules",
    "children",
    "named_children",
    "buffers",
    "named_buffers",
)
def parts_of_module(call: Call) -> Value:
    """An iterable of a module's parameters or submodules."""
    assert call.receiver is not None
    promote(call.receiver)
    last = call.name.rsplit(".", 1)[-1]
    made = call.it.new(
        "parameters" if "parameters" in last else "submodules", last, f"{call.receiver.label}.{last}()", call.site
    )
    made.parent = call.receiver
    if last == "named_parameters":
        made.state["names_of"] = of(root(call.receiver))
    return of(made)


@framework.method("unknown", "parameters", "named_parameters", "modules", "named_modules")
def parts_of_unknown(call: Call) -> Value:
    """Only modules have these: the object is one."""
    return parts_of_module(call)


@framework.element("parameters")
def one_parameter(it: Interpreter, item: Object, site: Site) -> Value | None:
    """One parameter that stands for all."""
    return _one(it, item, "parameter", site)


@framework.element("submodules")
def one_submodule(it: Interpreter, item: Object, site: Site) -> Value | None:
    """One submodule that stands for all."""
    return _one(it, item, "part", site)


def _one(it: Interpreter, item: Object, kind: str, site: Site) -> Value:
    made = it.new(kind, "", f"{item.label}[...]", site)
    made.parent, made.each = item.parent, True
    if not str(item.type).startswith("named_"):
        return of(made)
    name = it.unknown("name", site)
    name.each = True
    if "names_of" in item.state:
        name.state["names_of"] = item.state["names_of"]
    pair = it.new("tuple", "", item.label, site)
    pair.items = [of(name), of(made)]
    return of(pair)


@framework.setter("parameter", "requires_grad")
def set_requires_grad(it: Interpreter, item: Object, value: Value, node: object) -> None:
    """`p.requires_grad = x` in a loop over a module's parameters."""
    _freeze(it, item, value, it.site(node))  # type: ignore[arg-type]


@framework.method("parameter", "requires_grad_")
def call_requires_grad(call: Call) -> Value:
    """`p.requires_grad_(x)` in a loop over a module's parameters."""
    assert call.receiver is not None
    _freeze(call.it, call.receiver, call.get("requires_grad", 0, TRUE), call.site)
    return of(call.receiver)


def _freeze(it: Interpreter, item: Object, value: Value, site: Site) -> None:
    if item.parent is None:
        return
    partly = any(atom.each for atom, _ in it.guard)
    wanted = value.constant()
    mark_trainable(it, item.parent, "some" if partly or wanted is None else "all" if wanted else "none", site)


def mark_trainable(it: Interpreter, item: Object, literal: str, site: Site) -> None:
    """Record which parameters of a module train; what holds the module then trains in part."""
    before = trainable(item)
    set_state(it, item, "trainable", const(literal))
    it.emit(TrainableChanged(it.moment(site=site), item, before, literal))
    outer = item.parent
    while outer is not None:
        if trainable(outer) != literal:
            outer.state["trainable"] = const("some")
        outer = outer.parent


@framework.function("torch:Parameter")
def make_parameter(call: Call) -> Value:
    """A tensor that trains, unless the code says otherwise."""
    made = call.it.new("tensor", "torch.nn.Parameter", "", call.site)
    made.state["grad"] = call.get("requires_grad", 1, TRUE)
    return of(made)


@framework.method("module", "requires_grad_")
def module_requires_grad(call: Call) -> Value:
    """`module.requires_grad_(x)`."""
    assert call.receiver is not None
    wanted = call.get("requires_grad", 0, TRUE).constant()
    literal = "some" if wanted is None else "all" if wanted else "none"
    mark_trainable(call.it, call.receiver, literal, call.site)
    return of(call.receiver)


@framework.setter("module", "*")
def part_replaced(it: Interpreter, item: Object, value: Value, node: object) -> None:
    """A new layer put into a frozen module trains."""
    if any(part.kind in ("layer", "modules", "module") for part in value.objects()) and trainable(item) == "none":
        item.state["trainable"] = const("some")


# State


@framework.method("module", "train", "eval")
@framework.method("unknown", "train", "eval")
def set_mode(call: Call) -> Value:
    """Training or evaluation mode; what has it is a module."""
    assert call.receiver is not None
    promote(call.receiver)
    training = not call.name.endswith("eval") and call.get("mode", 0, TRUE).constant() is not False
    set_state(call.it, call.receiver, "training", const(training))
    for model in call.run.models:
        if model is not call.receiver and _is_inside(model, call.receiver):
            set_state(call.it, model, "training", const(training))
    return of(call.receiver)


def _is_inside(item: Object, holder: Object) -> bool:
    """Whether a module is a part of another, or of the one that it wraps."""
    inner = holder.attributes.get("module") if holder.kind in ("ddp", "fsdp") else None
    wanted = [holder, *(inner.objects() if inner is not None else [])]
    around: Object | None = item
    while around is not None:
        if any(around is each for each in wanted):
            return True
        around = around.parent
    return False


DTYPES = {"half": "float16", "float": "float32", "double": "float64"}


@framework.method(
    "module",
    "to",
    "cuda",
    "cpu",
    "half",
    "float",
    "bfloat16",
    "double",
    "type",
    "xpu",
    "to_empty",
    "share_memory",
    "compile",
)
def converted(call: Call) -> Value:
    """The module itself, perhaps in another dtype or place."""
    item = call.receiver
    assert item is not None
    last = call.name.rsplit(".", 1)[-1]
    before = item.known("dtype")
    dtype = const(DTYPES.get(last, last)) if last in ("half", "bfloat16", "float", "double") else NOTHING
    for value in [*call.positional, *call.keywords.values()]:
        for _, given in value:
            name = given.name.rsplit(".", 1)[-1] if isinstance(given, External) else ""
            if name in DTYPES or name in ("float16", "bfloat16", "float32", "float64"):
                dtype = const(DTYPES.get(name, name))
    if dtype:
        set_state(call.it, item, "dtype", dtype)
    if last in ("to", "cuda", "xpu", "to_empty", "cpu"):
        item.sites["moved"] = call.site
    call.it.emit(Converted(call.it.moment(site=call.site), item, dtype, before, call))
    return of(item)


@framework.method("module", "zero_grad")
def module_zero_grad(call: Call) -> Value:
    """The gradients of a module's parameters are set to nothing."""
    assert call.receiver is not None
    call.it.emit(GradientsCleared(call.it.moment(site=call.site), call.receiver))
    return NONE


@framework.method("module", "apply")
def apply_function(call: Call) -> Value:
    """The function applied to one submodule that stands for all."""
    assert call.receiver is not None
    part = call.it.new("part", "", f"{call.receiver.label}.modules()[...]", call.site)
    part.parent, part.each = call.receiver, True
    call.it.call(call.get("fn", 0), Call(call.it, call.site, "apply", [of(part)]))
    return of(call.receiver)


@framework.method("*", "load_state_dict")
def load_state_dict(call: Call) -> Value:
    """A state dict goes into a module, an optimizer or a scheduler."""
    assert call.receiver is not None
    call.it.emit(
        StateDictLoaded(
            call.it.moment(site=call.site), of(call.receiver), call.get("state_dict", 0), call.get("strict", 1, TRUE)
        )
    )
    made = call.it.new("load_result", "", "", call.site)
    return of(made)


@framework.method("*", "state_dict")
def state_dict(call: Call) -> Value:
    """The state of a module, an optimizer or a scheduler."""
    assert call.receiver is not None
    call.it.emit(StateDictSaved(call.it.moment(site=call.site), of(call.receiver)))
    made = call.it.new("dict", "state_dict", "", call.site)
    made.entries, made.open = {}, True
    made.attributes["of"] = of(call.receiver)
    return of(made)


@framework.function("torch.save")
def save(call: Call) -> Value:
    """torch.save(something, file)."""
    call.it.emit(StateDictSaved(call.it.moment(site=call.site), call.get("obj", 0)))
    return NONE


@framework.function("torch.load", "safetensors.torch.load_file")
def load(call: Call) -> Value:
    """What a file holds."""
    made = call.it.new("dict", "checkpoint_file", "", call.site)
    made.entries, made.open = {}, True
    made.attributes["path"] = call.get("f", 0, call.get("filename", 0))
    return of(made)


@framework.attribute("part", "forward")
@framework.attribute("module", "forward")
def forward_attribute(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """The forward that a module has by its class, when nobody patched it."""
    made = it.new("forward", "", f"{item.label}.forward")
    made.attributes["of"] = of(item)
    return of(made)


@framework.calling("forward")
def call_forward(call: Call) -> Value | None:
    """Calling the forward of a module is calling the module, less its hooks."""
    assert call.receiver is not None
    owner = call.receiver.attributes["of"].objects()[0]
    call.receiver = owner
    if containers.ANY in owner.label and not isinstance(owner.type, Class):
        return of(call.it.derived(call.site, call.positional))
    return run_forward(call, owner, None)
