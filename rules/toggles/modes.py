"""Modules that behave otherwise in training than in evaluation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gclint.frameworks.model_dropout import ADAPTERS_WITHOUT, DROPS_NOTHING
from gclint.ir.syntax import Site, nodes
from gclint.run.guards import ALWAYS, Guard, conj
from gclint.run.run import Run
from gclint.run.values import NOTHING, Class, Const, External, Object, Value, const, root

SAYS_HOW_MUCH: dict[str, tuple[str, int, float | bool]] = {
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"), ("track_running_stats", 4, True)),
    **dict.fromkeys(("LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d"), ("track_running_stats", 3, True)),
    **dict.fromkeys(("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"), ("track_running_stats", 4, False)),
    **dict.fromkeys(
        ("LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d"), ("track_running_stats", 3, True)
    ),
    **dict.fromkeys(("Dropout", "Dropout1d", "Dropout2d", "Dropout3d"), ("p", 0, 0.5)),
    **dict.fromkeys(("AlphaDropout", "FeatureAlphaDropout"), ("p", 0, 0.5)),
    **dict.fromkeys(("LSTM", "GRU"), ("dropout", 5, 0.0)),
    "RNN": ("dropout", 6, 0.0),
    **dict.fromkeys(("TransformerEncoderLayer", "TransformerDecoderLayer"), ("dropout", 3, 0.1)),
    "Transformer": ("dropout", 5, 0.1),
    "MultiheadAttention": ("dropout", 2, 0.0),
    "RReLU": ("upper", 1, 1 / 3),
}
"""Layers of torch with a mode: the argument that says if, or how much, with its place and its default (torch 2.13)."""
OF_LAYERS = {"RNN": ("num_layers", 2, 1), "LSTM": ("num_layers", 2, 1), "GRU": ("num_layers", 2, 1)}
"""What drops between its layers, of which one alone has none, and the argument that says how many there are."""
REPEATED = {"TransformerEncoder": "encoder_layer", "TransformerDecoder": "decoder_layer"}
"""What is made of copies of a layer that it is given first."""
NETWORK = re.compile(r"torchvision\.models\.(?!detection|segmentation|optical_flow|video|quantization|vit_)[a-z]\w*")
"""Networks of torchvision which drop, or have running statistics, as they come; its vision transformers do not."""


OF_DIFFUSERS = frozenset(
    (
        *("AuraFlowTransformer2DModel", "AutoencoderKL", "AutoencoderKLCogVideoX", "AutoencoderKLWan"),
        *("CogVideoXTransformer3DModel", "ControlNetModel", "FluxTransformer2DModel", "HunyuanVideoTransformer3DModel"),
        *("LTXVideoTransformer3DModel", "Lumina2Transformer2DModel", "MochiTransformer3DModel"),
        *("PixArtTransformer2DModel", "QwenImageTransformer2DModel", "SD3Transformer2DModel"),
        *("SanaTransformer2DModel", "UNet2DConditionModel", "UNet2DModel", "VQModel", "WanTransformer3DModel"),
    )
)
"""Networks of diffusers without batch norm, of which all dropout is 0 as they come (the constructors in its models/,
0.31 and 0.42).
"""
OWN = ("module", "lightning_module")
NO_MODULES = (
    *("forward", "parameter", "tensor", "criterion", "list", "dict", "tuple", "option", "namespace", "config"),
    *("config_node", "data", "loader", "logger"),
)
"""What a module has that is none of its modules, as a list of Python's, which it does not look into."""
PLAIN = ("float", "int", "str", "bool", "len", "round", "sum", "min", "max", "abs")
READERS = ("yaml.", "json.", "toml.", "tomli.", "tomllib.", "omegaconf.", "configparser.")
"""What reads numbers, texts, lists and dicts out of files, or keeps such."""
COMPUTED = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr)
"""What gives numbers, tensors or texts, and no module."""


def has_mode(model: Object, run: Run) -> bool | None:
    """Whether a layer of a model behaves otherwise in evaluation; None where not all of its layers are known."""
    if model.kind == "layer":
        return _layer_has_mode(model, run)
    parts = _parts_of(model, run)
    if root(model).known(DROPS_NOTHING).constant() and root(model).kind == "model":
        return False if _drops_nothing(root(model).known("adapter")) else None
    if model.kind == "diffusers_model" and not OF_DIFFUSERS.isdisjoint(str(model.type).split(".")):
        return False if _drops_nothing(model.known("adapter")) else None
    if parts is None:
        return True if NETWORK.fullmatch(str(model.type)) else None
    known = [has_mode(part, run) for _, part in parts]
    return True if True in known else None if None in known or _asks_its_mode(model) else False


def _asks_its_mode(model: Object) -> bool:
    """Whether the code of a module's class, or of one that it inherits from, asks in which mode it is, other than
    together with a setting that is off.
    """
    bases = model.type.ancestry() if isinstance(model.type, Class) else ()
    owners = [each for each in bases if isinstance(each, Class) and "training" in each.module.text]
    asked = (
        (node, owner.module.parents.get(node))
        for owner in owners
        for node in nodes(owner.node)
        if isinstance(node, ast.Attribute) and node.attr == "training" and isinstance(node.ctx, ast.Load)
    )
    return any(not _is_off(model, node, outer) for node, outer in asked)


def _is_off(model: Object, asked: ast.Attribute, outer: ast.AST | None) -> bool:
    """Whether `self.training` stands beside another attribute of the module, in an `and`, which is False."""
    beside = outer.values if isinstance(outer, ast.BoolOp) and isinstance(outer.op, ast.And) else []
    of_it = [
        each for each in beside if isinstance(each, ast.Attribute) and ast.dump(each.value) == ast.dump(asked.value)
    ]
    return any(model.attributes.get(each.attr, NOTHING).constant() is False for each in of_it)


def _drops_nothing(adapters: Value) -> bool:
    """Whether adapters are of a kind whose dropout is 0 as it comes, and leave it there."""
    held = [each.attributes.get("config", NOTHING) for each in adapters.objects()]
    configs = [item for value in held for item in value.objects()]
    known = len(held) == len(configs) and all(str(each.type).rpartition(".")[2] in ADAPTERS_WITHOUT for each in configs)
    return known and not any(
        each.open or any("dropout" in name and value.constant() != 0 for name, value in each.attributes.items())
        for each in configs
    )


def where_it_has_mode(model: Object, run: Run) -> Iterator[Guard]:
    """The guards under which a layer of a model is there that surely behaves otherwise in evaluation."""
    parts = _parts_of(model, run) if model.kind != "layer" else None
    if parts is None and has_mode(model, run):
        yield ALWAYS
    for guard, part in parts or ():
        held = (conj(guard, inner) for inner in where_it_has_mode(part, run))
        yield from (both for both in held if both is not None)


def where_it_may_have_mode(model: Object, run: Run) -> Iterator[Guard]:
    """The guards under which a model may behave otherwise in evaluation, for all that is known of its layers: nowhere
    where `has_mode` is False of it.
    """
    parts = _parts_of(model, run) if model.kind != "layer" else None
    if parts is not None and not _asks_its_mode(model):
        for guard, part in parts:
            held = (conj(guard, inner) for inner in where_it_may_have_mode(part, run))
            yield from (both for both in held if both is not None)
    elif model.kind == "layer" and model.class_name in SAYS_HOW_MUCH and _layer_has_mode(model, run) is None:
        given = _given(model, *SAYS_HOW_MUCH[model.class_name][:2], const(SAYS_HOW_MUCH[model.class_name][2]))
        yield from (guard for guard, item in given or [(ALWAYS, None)] if not isinstance(item, Const) or item.value)
    elif has_mode(model, run) is not False:
        yield ALWAYS


def _parts_of(model: Object, run: Run) -> list[tuple[Guard, Object]] | None:
    """What a module is seen to have that may be its modules, each with its guard; None for any other module."""
    if model.kind == "modules":
        values = model.items or []
    elif isinstance(model.type, Class) and model.kind in OWN and not model.open:
        values = [*model.attributes.values()]
    else:
        return None
    held = [(guard, item) for value in values for guard, item in value if isinstance(item, Object)]
    parts = [pair for pair in held if pair[1] is not model.parent]
    if model.kind == "modules":
        return parts
    return [pair for pair in parts if not _is_no_module(pair[1], run)]


def _is_no_module(item: Object, run: Run) -> bool:
    """Whether something is surely none: a number, a text, what a parser of files reads, an object of another class."""
    read = run.makers.get(root(item)) if item.kind == "unknown" else None
    from_a_file = read is not None and read.name.startswith(READERS)
    return item.kind in NO_MODULES or from_a_file or _is_plain(item) or _is_an_object(item)


def _is_plain(item: Object) -> bool:
    """Whether something was made by one of Python's types, such as a number, or computed by an operator."""
    node = item.site.node if item.site is not None else None
    if item.kind == "unknown" and isinstance(node, COMPUTED):
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PLAIN


def _is_an_object(item: Object) -> bool:
    """Whether something is of a class of the program that inherits from no library's."""
    owner = item.type if item.kind == "instance" else None
    own = [base for base in owner.ancestry() if isinstance(base, Class)] if isinstance(owner, Class) else []
    bases = [base for each in own for base in each.bases]
    return bool(own) and all(
        isinstance(base, Class) or (isinstance(base, External) and base.name == "builtins.object") for base in bases
    )


def is_own(model: Object) -> bool:
    """Whether the program made a module itself, of its own class, of torch's layers, or as torchvision's network."""
    own = isinstance(model.type, Class) or model.kind in ("layer", "modules")
    return own or NETWORK.fullmatch(str(model.type)) is not None


def _layer_has_mode(layer: Object, run: Run) -> bool | None:
    """By the argument that says so, or by the layer that it repeats."""
    name = layer.class_name
    if name in REPEATED:
        known = {has_mode(item, run) for item in _given(layer, REPEATED[name], 0, NOTHING).objects()}
        return known.pop() if len(known) == 1 else None
    if name not in SAYS_HOW_MUCH:
        return False
    if name in OF_LAYERS and _given(layer, *OF_LAYERS[name][:2], const(OF_LAYERS[name][2])).constant() == 1:
        return False
    return _is_on(layer)


def _is_on(layer: Object) -> bool | None:
    setting, place, default = SAYS_HOW_MUCH[layer.class_name]
    given = _given(layer, setting, place, const(default))
    on = {bool(each.value) if isinstance(each, Const) else None for _, each in given}
    return on.pop() if len(on) == 1 else None


def _given(layer: Object, name: str, place: int, default: Value) -> Value:
    """An argument of a layer's constructor; nothing where nobody knows how it was made."""
    if layer.built is None:
        return NOTHING
    positional, keywords = layer.built
    return positional[place] if len(positional) > place else keywords.get(name, default)


def called_as(site: Site) -> str:
    """How the code names the module that a call calls, itself or by its `forward`; "" where it gives it no name."""
    function = site.node.func if isinstance(site.node, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr == "forward":
        function = function.value
    return site.module.code(function) if isinstance(function, (ast.Name, ast.Attribute)) else ""
