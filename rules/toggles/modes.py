"""Modules that behave otherwise in training than in evaluation."""

from __future__ import annotations

from gclint.run.values import Class, Object

WITHOUT_MODE = {
    *("Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"),
    *("LayerNorm", "GroupNorm", "RMSNorm", "Embedding", "EmbeddingBag", "PReLU", "RNNCell", "LSTMCell", "GRUCell"),
}
"""Layers of torch that do the same in both modes."""


def has_mode(model: Object) -> bool | None:
    """Whether a layer of a model behaves otherwise in evaluation; None where not all of its layers are known."""
    if model.kind == "layer":
        return model.class_name not in WITHOUT_MODE and ("Dropout" in model.class_name or "Norm" in model.class_name)
    if model.kind == "modules":
        parts = [item for value in model.items or [] for item in value.objects()]
    elif isinstance(model.type, Class) and model.kind == "module" and not model.open:
        parts = [item for value in model.attributes.values() for item in value.objects()]
        parts = [item for item in parts if item.kind not in ("forward", "parameter", "tensor", "criterion")]
    else:
        return None
    known = [has_mode(part) for part in parts if part is not model.parent]
    return True if True in known else None if None in known else False
