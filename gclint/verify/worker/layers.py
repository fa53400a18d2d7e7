"""Finds the repeated layers of a model, in any architecture."""

from __future__ import annotations

from typing import Any

import torch


def layer_lists(model: Any) -> list[tuple[str, Any]]:
    """Return the outermost lists of layers with their names (an encoder-decoder has two)."""
    found: list[tuple[str, Any]] = []
    for name, module in model.named_modules():
        inside = any(name.startswith(outer + ".") for outer, _ in found)
        if isinstance(module, torch.nn.ModuleList) and len(module) and not inside and _parameters(module):
            found.append((name, module))
    return found


def layers(model: Any) -> list[tuple[str, Any, Any, int]]:
    """Return every layer as (name, layer, the list that holds it, its index there)."""
    return [
        (f"{name}.{index}", layer, holder, index)
        for name, holder in layer_lists(model)
        for index, layer in enumerate(holder)
    ]


def _parameters(module: Any) -> bool:
    return any(True for _ in module.parameters())
