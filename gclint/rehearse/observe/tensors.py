"""What of a run's tensors is written down: sums, norms and copies, of a sharded one those of this rank's part.

Numbers are computed where the tensors are, and read from there all at once: a real run waits for its device once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

KEPT, SAMPLED = 256 << 20, 16 << 20
HALF = (torch.float16, torch.bfloat16)


def norms_of(tensors: Sequence[Any]) -> list[float]:
    """The norm of each tensor."""
    return _read([torch.linalg.vector_norm(each, dtype=_wide(each)) for each in map(_values, tensors)])


def sums_of(tensors: Sequence[Any]) -> list[float]:
    """The sum of each tensor."""
    return _read([each.sum(dtype=_wide(each)) for each in map(_values, tensors)])


def state_of(optimizer: Any, own: Sequence[Any]) -> list[float]:
    """What the weights add up to before a step, and what the optimizer remembers."""
    weights = [parameter for parameter in own if parameter.device.type != "meta"]
    kept = [value for state in list(optimizer.state.values()) if isinstance(state, dict) for value in state.values()]
    remembered = [each.abs() for each in kept if torch.is_tensor(each) and each.device.type != "meta"]
    return [sum(sums_of(weights)), sum(sums_of(remembered))]


def copies_of(own: Sequence[Any], first: int, most: int) -> tuple[dict[int, Any], int]:
    """Copies of parameters as they are now, by id: from the `first` on round the list, `most` bytes of them; and where
    to go on. One that is larger by itself is left out.
    """
    left, found = most, dict[int, Any]()
    for at in range(first, first + len(own)):
        parameter = own[at % len(own)]
        part = local(parameter.detach())
        size = part.numel() * part.element_size()
        if size > most or part.device.type == "meta":
            continue
        left -= size
        if left < 0:
            return found, at
        found[id(parameter)] = part.clone()
    return found, first


def local(tensor: Any) -> Any:
    """The part of a tensor that this rank holds."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def holds(parameter: Any) -> bool:
    """Whether a parameter has a gradient that is not 0."""
    grad = parameter.grad
    return grad is not None and grad.device.type != "meta" and bool(_values(grad).any())


def version_of(parameter: Any) -> tuple[int, int]:
    """What changes when a parameter's gradient becomes another or is written to."""
    grad = parameter.grad
    return (0, 0) if grad is None else (id(grad), grad._version)


def rooted(norms: Sequence[float]) -> float:
    """The norm of which these are the parts."""
    return math.sqrt(sum(each * each for each in norms))


def number_of(value: Any) -> float:
    """The one number that a tensor holds, NaN where it holds another count."""
    if hasattr(value, "full_tensor"):
        value = value.full_tensor()
    if torch.is_tensor(value):
        return float(value.detach()) if value.device.type != "meta" and value.numel() == 1 else math.nan
    return float(value)


def _values(tensor: Any) -> Any:
    part = local(tensor.detach())
    return part.coalesce().values() if part.is_sparse else part


def _wide(tensor: Any) -> Any:
    """The kind of number to compute with, where that is another: halves overflow, and counts have no norm."""
    return torch.float32 if tensor.dtype in HALF or not tensor.is_floating_point() else None


def _read(numbers: Sequence[Any]) -> list[float]:
    """Numbers that are on devices, from each device at once."""
    found = [0.0] * len(numbers)
    for device, kind in {(each.device, each.dtype) for each in numbers}:
        places = [at for at, each in enumerate(numbers) if (each.device, each.dtype) == (device, kind)]
        for at, value in zip(places, torch.stack([numbers[at] for at in places]).tolist(), strict=True):
            found[at] = float(value)
    return found
