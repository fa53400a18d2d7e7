"""What of a run's tensors is written down: sums, norms and copies, of a sharded one those of this rank's part."""

from __future__ import annotations

import math
from typing import Any

import torch

KEPT = 256 << 20


def sums_of(optimizer: Any, own: list[Any]) -> list[float]:
    """What the weights add up to before a step, and what the optimizer remembers."""
    weights = sum(float(local(p.detach()).double().sum()) for _, p in own if p.device.type != "meta")
    kept = (v for state in list(optimizer.state.values()) if isinstance(state, dict) for v in state.values())
    remembered = sum(
        float(local(v).double().abs().sum()) for v in kept if torch.is_tensor(v) and v.device.type != "meta"
    )
    return [weights, remembered]


def copies_of(own: list[Any]) -> dict[int, Any]:
    """Copies of parameters as they are before a step, by id; of as many as fit."""
    left, found = KEPT, {}
    for _, parameter in own:
        part = local(parameter.detach())
        left -= part.numel() * part.element_size()
        if left > 0 and part.device.type != "meta":
            found[id(parameter)] = part.clone()
    return found


def local(tensor: Any) -> Any:
    """The part of a tensor that this rank holds."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def holds(parameter: Any) -> bool:
    """Whether a parameter has a gradient that is not 0."""
    grad = parameter.grad
    if grad is None or grad.device.type == "meta":
        return False
    part = local(grad)
    return bool((part.coalesce().values() if part.is_sparse else part).any())


def norm_of(own: list[Any], ids: set[int]) -> float:
    """The norm of the gradients of some parameters."""
    return rooted(
        [
            float(local(p.grad).double().norm())
            for _, p in own
            if id(p) in ids and p.grad is not None and not p.grad.is_sparse
        ]
    )


def rooted(norms: list[float]) -> float:
    """The norm of which these are the parts."""
    return math.sqrt(sum(each * each for each in norms))


def number_of(value: Any) -> float:
    """The one number that a tensor holds, NaN where it holds another count."""
    if hasattr(value, "full_tensor"):
        value = value.full_tensor()
    if torch.is_tensor(value):
        return float(value.detach()) if value.device.type != "meta" and value.numel() == 1 else math.nan
    return float(value)
