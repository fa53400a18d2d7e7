"""Modules that behave otherwise in training than in evaluation."""

from __future__ import annotations

import re

from gclint.run.values import Class, Const, Object, Value, const

SAYS_HOW_MUCH: dict[str, tuple[str, int, float | bool]] = {
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"), ("track_running_stats", 4, True)),
    **dict.fromkeys(("LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d"), ("track_running_stats", 3, True)),
    **dict.fromkeys(("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"), ("track_running_stats", 4, False)),
    "SyncBatchNorm": ("track_running_stats", 4, True),
    **dict.fromkeys(("Dropout", "Dropout1d", "Dropout2d", "Dropout3d"), ("p", 0, 0.5)),
    **dict.fromkeys(("AlphaDropout", "FeatureAlphaDropout"), ("p", 0, 0.5)),
    **dict.fromkeys(("RNN", "LSTM", "GRU"), ("dropout", 5, 0.0)),
    **dict.fromkeys(("TransformerEncoderLayer", "TransformerDecoderLayer"), ("dropout", 3, 0.1)),
    "Transformer": ("dropout", 5, 0.1),
    "MultiheadAttention": ("dropout", 2, 0.0),
}
"""Layers of torch with a mode: the argument that says if, or how much, with its place and its default (torch 2.13)."""
NETWORK = re.compile(r"torchvision\.models\.(?!detection|segmentation|optical_flow|video|quantization|vit_)[a-z]\w*")
"""Networks of torchvision which drop, or have running statistics, as they come; its vision transformers do not."""


def has_mode(model: Object) -> bool | None:
    """Whether a layer of a model behaves otherwise in evaluation; None where not all of its layers are known."""
    if model.kind == "layer":
        return _layer_has_mode(model)
    if model.kind == "modules":
        parts = [item for value in model.items or [] for item in value.objects()]
    elif isinstance(model.type, Class) and model.kind == "module" and not model.open:
        parts = [item for value in model.attributes.values() for item in value.objects()]
        parts = [item for item in parts if item.kind not in ("forward", "parameter", "tensor", "criterion")]
    else:
        return True if NETWORK.fullmatch(str(model.type)) else None
    known = [has_mode(part) for part in parts if part is not model.parent]
    return True if True in known else None if None in known else False


def is_own(model: Object) -> bool:
    """Whether the program made a module itself, of its own class, of torch's layers, or as torchvision's network."""
    own = isinstance(model.type, Class) or model.kind in ("layer", "modules")
    return own or NETWORK.fullmatch(str(model.type)) is not None


def _layer_has_mode(layer: Object) -> bool | None:
    """By the argument that says so; an RNN drops between its layers only, of which one has none."""
    if layer.class_name not in SAYS_HOW_MUCH:
        return False
    if layer.built is None:
        return None
    name, place, default = SAYS_HOW_MUCH[layer.class_name]
    positional, keywords = layer.built
    given = positional[place] if len(positional) > place else keywords.get(name, const(default))
    return _is_on(given)


def _is_on(said: Value) -> bool | None:
    """Whether a setting is anything but off; None where nobody knows."""
    held = [bool(item.value) if isinstance(item, Const) else None for _, item in said]
    return held[0] if held and len(set(held)) == 1 else None
