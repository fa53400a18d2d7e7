"""Checkpointing in every way that projects turn it on, and off again."""

from __future__ import annotations

import copy
import functools
from typing import Any

import torch
import torch.utils.checkpoint

from gclint.verify.moments import (
    Checkpointing,
    OverrideCheckpoint,
    PatchForward,
    RestoreForward,
    SetAttribute,
)
from gclint.verify.worker.layers import layers
from gclint.verify.worker.stage import Stage


def set_checkpointing(stage: Stage, moment: Checkpointing) -> None:
    """Turn checkpointing on or off, by the means the code uses."""
    if not moment.on:
        _disable(stage)
    elif moment.by == "patched-forward":
        patch = PatchForward("partial", moment.reentrant, moment.preserve_rng_state, moment.swallow_errors)
        patch_forwards(stage, patch)
    elif moment.by == "module-wrapper":
        _wrap_layers(stage, moment)
    elif moment.by == "call" and hasattr(stage.model, "checkpoint_call"):
        stage.model.checkpoint_call = _keywords(moment.reentrant, moment.preserve_rng_state)
    elif moment.by == "call" and stage.calling is not None:
        stage.run.expects_recomputation = True
    else:
        enable_library(stage, moment.reentrant, moment.preserve_rng_state)


def enable_library(stage: Stage, reentrant: bool | None, preserve: bool) -> None:
    """Turn checkpointing on by the model's own switch, with every default of the target spelled out.

    None spells out what the library passes to torch then: nothing, which torch takes as reentrant.
    """
    model = stage.model
    keywords = {"use_reentrant": True if reentrant is None else reentrant}
    if not preserve:
        keywords["preserve_rng_state"] = False
    if hasattr(model, "gradient_checkpointing_enable"):
        hooks = _hooks(model)
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=keywords)  # noqa: GCL604
        _drop_new_hooks(model, hooks)
    elif hasattr(_inner(model), "checkpoint_call"):
        _inner(model).checkpoint_call = keywords
    else:
        patch_forwards(stage, PatchForward("partial", reentrant, preserve))


def patch_forwards(stage: Stage, moment: PatchForward) -> None:
    """Replace every layer's forward in the given style."""
    call = functools.partial(_guarded if moment.swallow_errors else _checkpoint, _options(moment))
    found = layers(_inner(stage.model))
    for _, layer, holder, index in found:
        stage.originals.append((holder, layer, index))
        if moment.style == "module":
            holder[index] = _Replacement(layer, call)
        elif moment.style == "stored-module":
            layer.original_layer = copy.copy(layer)
            layer.forward = functools.partial(call, layer.forward)
        elif moment.style == "lambda":
            layer.forward = lambda *a, _forward=layer.forward, **k: call(_forward, *a, **k)
        elif moment.style == "partial":
            layer.forward = functools.partial(call, layer.forward)
    if moment.style == "late-binding-lambda":
        for _, layer, _, _ in found:
            forward = layer.forward
            layer.forward = lambda *a, **k: call(forward, *a, **k)  # noqa: B023, GCL302


def restore_forwards(stage: Stage, moment: RestoreForward) -> None:
    """Put the layers and their forwards back."""
    for holder, layer, index in stage.originals:
        holder[index] = layer
        layer.__dict__.pop("forward", None)
        layer._modules.pop("original_layer", None)
    stage.originals.clear()


def set_attribute(stage: Stage, moment: SetAttribute) -> None:
    """Assign an attribute on the model or its config."""
    owner = stage.model if moment.of == "model" else getattr(stage.model, "config", stage.model)
    setattr(owner, moment.name, moment.value)


def override_checkpoint(stage: Stage, moment: OverrideCheckpoint) -> None:
    """Replace torch's public checkpoint function, as scripts do, after everything was imported."""
    torch.utils.checkpoint.checkpoint = lambda function, *args, **kwargs: function(*args, **kwargs)


def _disable(stage: Stage) -> None:
    model = stage.model
    if hasattr(model, "gradient_checkpointing_disable"):
        model.gradient_checkpointing_disable()
    if hasattr(_inner(model), "checkpoint_call"):
        _inner(model).checkpoint_call = None


def _wrap_layers(stage: Stage, moment: Checkpointing) -> None:
    from torch.distributed.algorithms._checkpoint import checkpoint_wrapper as wrapper

    kind = wrapper.CheckpointImpl.REENTRANT if moment.reentrant else wrapper.CheckpointImpl.NO_REENTRANT
    keywords = {} if moment.preserve_rng_state else {"preserve_rng_state": False}
    for _, layer, holder, index in layers(_inner(stage.model)):
        stage.originals.append((holder, layer, index))
        holder[index] = wrapper.checkpoint_wrapper(layer, checkpoint_impl=kind, **keywords)


def _keywords(reentrant: bool | None, preserve: bool) -> dict[str, Any]:
    keywords: dict[str, Any] = {} if reentrant is None else {"use_reentrant": reentrant}
    return keywords if preserve else {**keywords, "preserve_rng_state": False}


def _options(moment: PatchForward) -> dict[str, Any]:
    return _keywords(moment.reentrant, moment.preserve_rng_state)


def _checkpoint(options: dict[str, Any], forward: Any, *args: Any, **kwargs: Any) -> Any:
    return torch.utils.checkpoint.checkpoint(forward, *args, **options, **kwargs)  # noqa: GCL604


def _guarded(options: dict[str, Any], forward: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return _checkpoint(options, forward, *args, **kwargs)
    except Exception:
        return forward(*args, **kwargs)


class _Replacement(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, layer: Any, call: Any):
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(self.layer, *args, **kwargs)


def _inner(model: Any) -> Any:
    """The model inside adapters."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _hooks(model: Any) -> set[int]:
    embedding = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    return set(getattr(embedding, "_forward_hooks", {}))


def _drop_new_hooks(model: Any, known: set[int]) -> None:
    """Take back the input gradients that the installed version enables by itself: the recipe says them."""
    embedding: Any = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    for key in set(getattr(embedding, "_forward_hooks", {})) - known:
        embedding._forward_hooks.pop(key)
