"""Changes that make a run smaller, each done to the model, the optimizer or the batch right before its first step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from gclint.verify.worker.fullsize.packed import pack, pack_states
from gclint.verify.worker.layers import layers

RANK = 16


@dataclass
class Scene:
    """What stands there right before the first forward: the model that is called, its optimizers and its batch."""

    model: Any
    optimizers: list[Any]
    resize: Callable[[int], None]
    batch_size: int


class NotHere(Exception):
    """An option that this run leaves no room for."""


def checkpointing(scene: Scene) -> None:
    """Keep only what enters each layer."""
    for library in _libraries(scene.model):
        if getattr(library, "supports_gradient_checkpointing", False):
            if getattr(library, "is_gradient_checkpointing", False):
                raise NotHere("is on")
            library.gradient_checkpointing_enable({"use_reentrant": False})
            return
    found = layers(scene.model)
    if not found:
        raise NotHere("has no list of layers")
    for _, layer, _, _ in found:
        layer.forward = _checkpointed(layer.forward)


def _checkpointed(forward: Any) -> Any:
    from torch.utils.checkpoint import checkpoint

    return lambda *args, **kwargs: checkpoint(forward, *args, use_reentrant=False, **kwargs)


def one_row(scene: Scene) -> None:
    """A batch of one row."""
    if scene.batch_size < 2:
        raise NotHere("is one row")
    scene.resize(1)


def eight_bit_states(scene: Scene) -> None:
    """The optimizer's state in 8 bits."""
    for each in scene.optimizers:
        each.after_warming = lambda optimizer: pack_states(optimizer)


def paged_states(scene: Scene) -> None:
    """The optimizer's state in 8 bits and in memory that need not lie on the device."""
    for each in scene.optimizers:
        each.after_warming = lambda optimizer: pack_states(optimizer, paged=True)


def adapters(scene: Scene) -> None:
    """LoRA on every linear layer but the head, all else frozen."""
    from peft import LoraConfig, inject_adapter_in_model

    if _has_adapters(scene.model):
        raise NotHere("has adapters")
    head = next((each.get_output_embeddings() for each in _libraries(scene.model)), None)
    names = [
        name
        for name, each in scene.model.named_modules()
        if isinstance(each, torch.nn.Linear) and each is not head and "." in name
    ] or [name for name, each in scene.model.named_modules() if type(each).__name__ == "Conv1D"]
    if not names:
        raise NotHere("has no linear layers")
    scene.model.requires_grad_(False)
    inject_adapter_in_model(LoraConfig(r=RANK, target_modules=names), scene.model)
    trained = [each for each in scene.model.parameters() if each.requires_grad]
    for each in scene.optimizers:
        each.state.clear()
        each.param_groups[:] = [{**each.param_groups[0], "params": trained}]


def _has_adapters(model: Any) -> bool:
    return any("lora_" in name for name, _ in model.named_parameters())


def four_bits(scene: Scene) -> None:
    """Weights in 4 bits with adapters and checkpointing."""
    dtype = torch.bfloat16
    for each in _libraries(scene.model) or [scene.model]:
        pack(each, "4bit", dtype, frozen=_has_adapters(scene.model))
    _suitably(adapters, scene)
    _suitably(checkpointing, scene)


def with_checkpointing(change: Callable[[Scene], None]) -> Callable[[Scene], None]:
    """The change, and checkpointing where it is off."""

    def both(scene: Scene) -> None:
        change(scene)
        _suitably(checkpointing, scene)

    return both


def _suitably(change: Callable[[Scene], None], scene: Scene) -> None:
    try:
        change(scene)
    except NotHere:
        return


def _libraries(model: Any) -> list[Any]:
    """The outermost models of transformers in `model`."""
    return [each for each in model.modules() if hasattr(each, "get_output_embeddings")][:1]


OPTIONS: tuple[tuple[str, str, Callable[[Scene], None]], ...] = (
    ("checkpointing", "gradient checkpointing", checkpointing),
    ("8-bit-optimizer", "an 8-bit optimizer", eight_bit_states),
    ("smaller-batch", "a batch of 1, more accumulation steps, gradient checkpointing", with_checkpointing(one_row)),
    ("paged-optimizer", "a paged 8-bit optimizer, gradient checkpointing", with_checkpointing(paged_states)),
    ("adapters", f"LoRA of rank {RANK} on all linear layers, gradient checkpointing", with_checkpointing(adapters)),
    ("4-bit-adapters", "4-bit weights with LoRA, gradient checkpointing", four_bits),
)
