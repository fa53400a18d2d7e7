"""torch.nn: modules, their parameters, forwards, and what is trainable."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..ir.syntax import Site
from ..run import changes, elements, inference, names
from ..run.calls import Call
from ..run.events import Forward, ModuleCalled
from ..run.guards import ALWAYS, Guard
from ..run.interpreter import Interpreter
from ..run.invocation import is_record
from ..run.precision import mark_product
from ..run.values import (
    FALSE,
    NONE,
    NOTHING,
    TRUE,
    Class,
    Const,
    Function,
    Object,
    Value,
    assigned,
    const,
    of,
    root,
    union,
)
from ..run.wholes import adopt
from .adapted_layers import is_adapted
from .module_members import MEMBERS
from .registry import Framework

framework = Framework(
    "torch.nn",
    kinds={"modules": "module", "layer": "module", "part": "module"},
    bases={"torch:Module": "module", "torch:ModuleList": "modules", "torch:Sequential": "modules"},
    members={"torch:Module": MEMBERS},
)

BOTH = ("weight", "bias")
OF_LAYERS = {
    **dict.fromkeys(("Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d"), BOTH),
    **dict.fromkeys(("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LayerNorm", "GroupNorm"), BOTH),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"), BOTH),
    **dict.fromkeys(("Embedding", "EmbeddingBag", "RMSNorm", "PReLU"), ("weight",)),
    **dict.fromkeys(("RNNCell", "LSTMCell", "GRUCell"), ("weight_ih", "weight_hh", "bias_ih", "bias_hh")),
}
"""The parameters that a layer's constructor registers, in its order (torch/nn/modules)."""
RECURRENT = ("RNN", "LSTM", "GRU")  # theirs depend on how they are built
PARAMETRIC = (
    *OF_LAYERS,
    *RECURRENT,
    *("MultiheadAttention", "Transformer"),
    *("TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder", "TransformerDecoder"),
)
INSTANCE_NORMS = ("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d")  # with parameters where they are asked for
_IN_EACH_DIMENSION = (
    *("AvgPool", "MaxPool", "MaxUnpool", "LPPool", "AdaptiveAvgPool", "AdaptiveMaxPool"),
    *("ReflectionPad", "ReplicationPad", "ZeroPad", "ConstantPad", "CircularPad"),
)
PARAMETERLESS = (
    *("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "Identity"),
    *("ReLU", "GELU", "SiLU", "ELU", "LeakyReLU", "Softmax", "Tanh", "Sigmoid", "LogSoftmax", "LogSigmoid", "Softmin"),
    *("ReLU6", "RReLU", "SELU", "CELU", "GLU", "Mish", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh"),
    *("Softmax2d", "Softplus", "Softshrink", "Softsign", "Tanhshrink", "Threshold"),
    *(f"{name}{dimensions}d" for name in _IN_EACH_DIMENSION for dimensions in (1, 2, 3)),
    *("FractionalMaxPool2d", "FractionalMaxPool3d", "LocalResponseNorm", "CrossMapLRN2d", *INSTANCE_NORMS),
    *("Flatten", "Unflatten", "Fold", "Unfold", "ChannelShuffle", "PixelShuffle", "PixelUnshuffle"),
    *("Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d", "CosineSimilarity", "PairwiseDistance"),
)
LAZY = tuple(
    f"Lazy{name}" for name in (*OF_LAYERS, *INSTANCE_NORMS) if name.startswith(("Linear", "Conv", "Batch", "Instance"))
)
UNDESCRIBED = (
    *(*LAZY, "ParameterList", "ParameterDict", "AdaptiveLogSoftmaxWithLoss", "LinearCrossEntropyLoss"),
    *("RNNBase", "RNNCellBase", "Embedding.from_pretrained", "EmbeddingBag.from_pretrained"),
)
"""What has parameters, too, of which nothing else is said."""
NUMBERS = {
    "Softmax": "probabilities",
    "Softmin": "probabilities",
    "LogSoftmax": "log-probabilities",
    "Sigmoid": "sigmoid",
    "LogSigmoid": "log-sigmoid",
    "Linear": "raw",
}
"""What the numbers are that a layer gives."""

_OF_OTHERS = re.compile(r"torch\.\w+\.nn\.|torchvision\.(models|ops)\.")
_BUILDER = re.compile(r"torchvision\.models\.(\w+\.)*(?!get_(weight|model_)|list_)[a-z]\w*\Z")
"""What builds a whole network, which is a module for certain."""

MAX_NESTED = 2
MOST_HELD = 3
GIVEN_BACK = "given back"
"""The fact of an activation that the forward gives nothing but what it was given."""
REPARAMETRISED = "reparametrised"
"""What is known of a module that has other parameters than it was built with, and no other modules."""

_NORM = ("num_features", "eps", "momentum", "affine", "track_running_stats")
_CONVOLUTION = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias")
_TRANSPOSED = (*_CONVOLUTION[:5], "output_padding", "groups", "bias", "dilation")
_SIZES = ("input_size", "hidden_size", "num_layers")
_RECURRENT = ("bias", "batch_first", "dropout", "bidirectional")
SETTINGS = {
    "Linear": ("in_features", "out_features", "bias"),
    "Bilinear": ("in1_features", "in2_features", "out_features", "bias"),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), _CONVOLUTION),
    **dict.fromkeys(("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"), _TRANSPOSED),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", *INSTANCE_NORMS), _NORM),
    "LayerNorm": ("normalized_shape", "eps", "elementwise_affine", "bias"),
    "RMSNorm": ("normalized_shape", "eps", "elementwise_affine"),
    "GroupNorm": ("num_groups", "num_channels", "eps", "affine"),
    "Embedding": ("num_embeddings", "embedding_dim", "padding_idx"),
    "RNN": (*_SIZES, "nonlinearity", *_RECURRENT),
    "LSTM": (*_SIZES, *_RECURRENT, "proj_size"),
    "GRU": (*_SIZES, *_RECURRENT),
    **dict.fromkeys(("RNNCell", "LSTMCell", "GRUCell"), ("input_size", "hidden_size", "bias")),
    **dict.fromkeys(("Dropout", "Dropout2d"), ("p", "inplace")),
    **dict.fromkeys(("ReLU", "SiLU"), ("inplace",)),
    "ELU": ("alpha", "inplace"),
    "LeakyReLU": ("negative_slope", "inplace"),
}
"""The arguments of a layer's constructor in their places, as far as they are asked for."""
IN_ANOTHER_FORM = {
    *("bias", "device", "dtype", "kernel_size", "stride", "padding", "output_padding", "dilation", "normalized_shape")
}
"""What a layer does not keep as it was given, under that name."""


def set_state(it: Interpreter, item: Object, fact: str, value: Value, default: Value = NOTHING) -> None:
    """Record a fact about an object, under the current guard; elsewhere it is what it was, known or not."""
    guard = it.guard - it.run.assumed
    held = item.state.get(fact, default)
    item.state[fact] = assigned(guard, value, held) if held else value.under(guard)


def mode(item: Object) -> Value:
    """Whether a module is in training mode, by the last call of `train` or `eval` on it or on what it is a part of;
    where that call is not come to, by the call before.
    """
    holders = [item]
    while (held := holders[-1].parent) is not None:
        holders.append(held)
    holders.reverse()
    found = NOTHING
    for each in sorted(holders, key=lambda each: int(each.known("mode_set").constant() or 0)):
        for guard, value in each.known("training").alternatives:
            found = assigned(guard, of(value), found) if found else Value(((guard, value),))
    return found


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
    if not call.open:
        made.built = made.built or (list(call.positional), dict(call.keywords))
    given = _settings(call.last, call.positional, call.keywords)
    made.attributes.update({name: value for name, value in given.items() if name not in IN_ANOTHER_FORM})
    made.sites["inplace"] = call.place("inplace")
    return of(made)


def _settings(layer: str, positional: list[Value], keywords: dict[str, Value]) -> dict[str, Value]:
    return dict(zip(SETTINGS.get(layer, ()), positional, strict=False)) | keywords


def settings_of(layer: Object) -> dict[str, Value]:
    """What a layer was built with, by name; nothing where that is not known."""
    return _settings(layer.class_name, *layer.built) if layer.built is not None else {}


@framework.function(
    *(f"torch.nn.{name}" for name in UNDESCRIBED),
    *(f"torch.{name}" for name in ("jit.script", "jit.trace", "jit.load", "fx.symbolic_trace", "hub.load")),
)
def make_undescribed(call: Call) -> Value:
    """Something with parameters that train."""
    return call.foreign()


@framework.family(r"torch:[A-Z]\w*", r"torchvision:\w+")
def make_of_another_module(call: Call) -> Value | None:
    """A layer by the module that defines it, or another's module: one with parameters, for all that is known."""
    handler = framework.functions.get(f"torch.nn.{call.last}")
    if call.name.startswith("torch.nn.modules.") and handler is not None:
        call.name = f"torch.nn.{call.last}"
        made: Value | None = handler(call)
        return made
    if not _OF_OTHERS.match(call.name):
        return None
    found = call.foreign()
    for item in found.objects() if _BUILDER.match(call.name) else ():
        promote(item)
        item.type = call.name
    return found


@framework.function("torch.nn.utils.skip_init")
def skip_init(call: Call) -> Value:
    """`skip_init(nn.Linear, 8, 8)`: the module, with parameters that hold anything."""
    inner = Call(call.it, call.site, "", call.positional[1:], call.keywords, call.open, call.places)
    return call.it.call(call.get("module_cls", 0), inner)


@framework.function(
    *(f"torch.nn.utils.{name}" for name in ("weight_norm", "spectral_norm")),
    *(f"torch.nn.utils.parametrizations.{name}" for name in ("weight_norm", "spectral_norm", "orthogonal")),
    "torch.nn.utils.parametrize.register_parametrization",
)
def reparametrised(call: Call) -> Value:
    """A module some of whose parameters are others from now on."""
    given = call.get("module", 0)
    for item in given.objects():
        if not item.open:
            item.state[REPARAMETRISED] = TRUE
        item.open = True
        trains_now(item)
    return given


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
    item = call.get("modules", 0).only()
    if call.last == "ModuleDict" or (isinstance(item, Object) and item.entries is not None):
        made.state["named"] = TRUE
    if isinstance(item, Object) and item.entries is not None:
        made.items, made.each = list(item.entries.values()), item.open
    elif call.last == "ModuleList" and isinstance(item, Object) and item.items is not None:
        made.items, made.each = list(item.items), item.each
    elif call.last == "ModuleList" and len(call.get("modules", 0).alternatives) > 1:
        made.items, made.each = _elements_of_one(call, call.get("modules", 0))
    else:
        made.items, made.each = list(call.positional), call.open
    for part in [found for value in made.items for found in value.objects()]:
        adopt(made, part)
        part.each = part.each or made.each
    return of(made)


def _elements_of_one(call: Call, given: Value) -> tuple[list[Value], bool]:
    """The elements of what is one of several lists, and whether one stands for all."""
    each = elements.rounds(call.it, given)
    if each is None:
        return [elements.element(call.it, given, call.site.node)], True
    return [elements.present(guard, part) for guard, part in each], False


@framework.method("modules", "append", "add_module", "insert")
def append_module(call: Call) -> Value:
    """One module more in a container."""
    assert call.receiver is not None
    if call.last != "append":
        call.receiver.state["named"] = TRUE
    changes.add(call.it, call.receiver, call.positional[-1])
    if call.receiver.each:
        for part in call.positional[-1].objects():
            part.each = True
    call.it.library.stored(call.it, call.receiver, call.positional[-1])
    return of(call.receiver)


@framework.method("modules", "extend")
def extend_modules(call: Call) -> Value:
    """Several modules more in a container."""
    assert call.receiver is not None
    before = len(call.receiver.items or [])
    changes.extend(call.it, call.receiver, call.get("modules", 0), call.site.node)
    for value in (call.receiver.items or [])[before:]:
        call.it.library.stored(call.it, call.receiver, value)
    return of(call.receiver)


@framework.method("unknown", "reset_classifier")
@framework.method("module", "reset_classifier")
def reset_classifier(call: Call) -> Value:
    """timm's models get another output layer (timm/models)."""
    return call.unknown()


@framework.method("module", "get_submodule")
def submodule(call: Call) -> Value:
    """module.get_submodule(name): a part of it."""
    assert call.receiver is not None
    made = call.it.new("part", "", f"{call.receiver.label}.get_submodule()", call.site)
    made.parent, made.each = call.receiver, call.it.vague > 0
    return of(made)


@framework.method("module", "add_module", "register_module", "register_parameter")
def add_part(call: Call) -> Value:
    """module.add_module(name, child), module.register_parameter(name, parameter)."""
    name = names.const_text(call.get("name", 0))
    assert call.receiver is not None
    if name is None:
        call.receiver.open = True
        call.it.library.stored(call.it, call.receiver, call.get("module", 1))
    else:
        names.assign_attribute(
            call.it,
            of(call.receiver),
            name,
            call.get("param" if call.last == "register_parameter" else "module", 1),
            call.site.node,
        )
    return NONE


@framework.method("module", "register_buffer")
def register_buffer(call: Call) -> Value:
    """A tensor that a module keeps beside its parameters, which stay as they are; one that is None is none yet."""
    assert call.receiver is not None
    name, tensor = names.const_text(call.get("name", 0)), call.get("tensor", 1)
    if name is None:
        call.receiver.open = True
    elif tensor:
        names.assign_attribute(call.it, of(call.receiver), name, tensor, call.site.node)
    if not tensor.is_const(None):
        set_state(call.it, call.receiver, "buffers", TRUE)
    return call.unknown()


@framework.method(
    "module",
    "register_backward_hook",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_load_state_dict_post_hook",
    "register_load_state_dict_pre_hook",
    "register_state_dict_post_hook",
    "register_state_dict_pre_hook",
)
def register(call: Call) -> Value:
    """What a module keeps besides its parameters, which stay as they are (torch/nn/modules/module.py)."""
    return call.unknown()


@framework.element("modules")
def element_of_modules(it: Interpreter, item: Object, site: Site) -> Value | None:
    """One module that stands for all of them."""
    return union(item.items) if item.items else None


@framework.calling("module")
def call_module(call: Call) -> Value | None:
    """module(x): its forward, patched or of its class, walked; an activation comes out of the outermost."""
    assert call.receiver is not None
    if call.receiver.kind == "part" and call.receiver.parent is not None and _for_its_effect(call):
        trains_now(call.receiver.parent)
    return run_forward(call, call.receiver, call.receiver.attributes.get("forward"))


def _for_its_effect(call: Call) -> bool:
    """Whether nobody looks at what a call gives, so that it is made for what it changes."""
    return isinstance(call.site.module.parents.get(call.site.node), ast.Expr)


@framework.escape("module")
def trains_now(part: Object) -> None:
    """Code that nobody knows may have put a layer into a frozen module; a method of its own may have changed that."""
    outer: Object | None = part
    while outer is not None:
        loosen(outer)
        outer = outer.parent


def loosen(item: Object) -> None:
    """Of a module a part may train from now on where it is frozen."""
    held = _training(item)
    if held.is_const("none"):
        frozen, some = Const("none"), Const("some")
        item.state["trainable"] = Value((guard, some if part == frozen else part) for guard, part in held)


def run_forward(call: Call, item: Object, forward: Value | None) -> Value | None:
    """What a module's forward gives: the given one, else that of its class."""
    it = call.it
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
    inner.spelled_out = call.spelled_out
    try:
        if forward is not None:
            result = it.call(forward, inner)
        elif item.kind == "modules" and item.items and item.class_name == "Sequential":
            result = _chain(inner, item)
        else:
            result = _layer_result(call, item)
    finally:
        it.forwards.pop()
    if not outermost:
        return result
    around = it.contexts
    it.contexts = [*around, *_decorations(it, forward)]
    try:
        return activated(call, item, result)
    finally:
        it.contexts = around


def _decorations(it: Interpreter, forward: Value | None) -> list[Object]:
    """The blocks that decorators put around a forward, such as `torch.no_grad()`."""
    held = forward.only() if forward is not None else None
    return it.decorations.get(held.node_id, []) if isinstance(held, Function) else []


def _chain(call: Call, item: Object) -> Value:
    """What layers give one after the other; where nobody knows how many there are, what any of them has a part in."""
    value, results = call.get("", 0), list[Value]()
    for part in item.items or []:
        results.append(call.it.call(part, Call(call.it, call.site, "forward", [value])))
        value = results[-1]
    return of(call.it.derived(call.site, results)) if item.each else value


def activated(call: Call, item: Object, result: Value, through: Object | None = None) -> Value:
    """The result of a model's forward: whatever is computed from it remembers the model, but where autograd does not
    record; there the forward has what was `given`.
    """
    it = call.it
    model = root(item)
    activation = it.new("activation", "", item.label, call.site)
    activation.attributes["of"] = of(model)
    activation.attributes["called"] = of(item)
    activation.state["training"], activation.state["trainable"] = mode(item), _training(model)
    activation.attributes["inputs"] = union([*call.positional, *call.keywords.values()])
    given = result.objects()
    if given and set(given) <= set(activation.attributes["inputs"].objects()):
        activation.state[GIVEN_BACK] = TRUE
    if it.moment(site=call.site).unrecorded() is not None:
        activation.attributes["given"] = result
        it.emit(Forward(it.moment(site=call.site), model, item, activation, through, call))
        return result
    for part in result.objects():
        part.origins |= {activation}
        part.state.pop("foreign", None)
        for inner in _held(part):
            inner.origins |= {activation}
    if not result.objects():
        made = it.derived(call.site, call.inputs())
        made.origins |= {activation}
        result = of(made)
    it.emit(Forward(it.moment(site=call.site), model, item, activation, through, call))
    return result


def _held(result: Object, depth: int = MOST_HELD) -> Iterator[Object]:
    """What stands in a list, a dict or a record that a forward gives, also deeper in it."""
    record = isinstance(result.type, Class) and is_record(result.type)
    values = [*(result.items or []), *(result.entries or {}).values(), *(result.attributes.values() if record else ())]
    for part in (part for value in values for part in value.objects()) if depth else ():
        yield part
        yield from _held(part, depth - 1)


def _layer_result(call: Call, item: Object) -> Value:
    made = call.it.derived(call.site, call.positional + list(call.keywords.values()))
    _in_inference_mode(call, item, made)
    if item.kind == "layer" and item.class_name == "Linear":
        mark_product(call.it, made)
    if item.kind == "layer" and item.class_name in NUMBERS:
        made.state["numbers"] = const(NUMBERS[item.class_name])
        made.sites["numbers"] = item.site if call.name == "forward" and item.site is not None else call.site
    if item.class_name in PARAMETRIC and _may_train(item):
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


HANDS_ON = ("Identity", "Flatten", "Unflatten")
"""Layers that give what they are given, in another shape."""


def _in_inference_mode(call: Call, item: Object, made: Object) -> None:
    """What a module computes in inference mode is a tensor of it; of one that nobody looks into, maybe."""
    given = call.positional[0].objects() if call.positional else []
    if item.kind == "layer" and item.class_name in HANDS_ON:
        if len(given) == 1:
            inference.keep(given[0], made)
    elif item.kind != "layer" or not item.class_name.endswith(("Dropout", "Dropout1d", "Dropout2d", "Dropout3d")):
        known = item.kind in ("layer", "vision_model") or _BUILDER.match(str(item.type)) is not None
        inference.mark(call.it, made, maybe=not known)


def _may_train(layer: Object) -> bool:
    how = trainable(layer)
    return how != "none" and (how != "adapters" or is_adapted(layer) is not False)


def trainable(item: Object, guard: Guard = ALWAYS) -> str:
    """ "all", "some", "none" or "adapters": which parameters of a module train, by what the code said last, as far as a
    guard leaves that possible.
    """
    return str(_training(item).possible(guard).constant() or "some")


def trains_whole(item: Object) -> list[Guard]:
    """The guards under which all parameters of a module train."""
    return _training(item).is_const("all")


def _training(item: Object) -> Value:
    held: Object | None = item
    while held is not None:
        if "trainable" in held.state:
            return held.state["trainable"]
        held = held.parent
    return const("all")


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
    if elements.ANY in owner.label and not isinstance(owner.type, Class):
        return of(call.it.derived(call.site, call.positional))
    return run_forward(call, owner, None)
