"""A tensor as a handful of numbers that tell how far it is from another one.

A sketch is the norm and eight projections on fixed random signs. Differences of projections estimate the
norm of the difference (Johnson-Lindenstrauss), so ranks, runs and processes compare tensors by JSON alone.
"""

from __future__ import annotations

import zlib
from typing import Any

import torch

PROJECTIONS = 8
BLOCK = 1 << 20
_signs: dict[int, Any] = {}


def sketch(tensor: Any) -> list[float]:
    """Return norm and projections of a tensor, computed in float64 on the CPU; empty for a meta tensor."""
    if hasattr(tensor, "full_tensor"):
        tensor = tensor.full_tensor()
    if tensor.device.type == "meta":
        return []
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()  # the gradient of an embedding made with `sparse=True`
    flat = tensor.detach().to(device="cpu", dtype=torch.float64).reshape(-1)
    total = torch.zeros(PROJECTIONS, dtype=torch.float64)
    for start in range(0, flat.numel(), BLOCK):
        block = flat[start : start + BLOCK]
        total += _matrix(block.numel()) @ block
    return [float(flat.norm()), *total.tolist()]


def signed(name: str, numbers: list[float]) -> list[float]:
    """Return a sketch with the sign of its tensor's name, so that sums of sketches tell names apart."""
    sign = 1.0 if zlib.crc32(name.encode()) & 1 else -1.0
    return [numbers[0], *(sign * each for each in numbers[1:])] if numbers else [0.0] * (PROJECTIONS + 1)


def _matrix(size: int) -> Any:
    if size not in _signs:
        generator = torch.Generator().manual_seed(size)
        bits = torch.randint(0, 2, (PROJECTIONS, size), generator=generator)
        _signs[size] = bits.to(torch.float64).mul_(2).sub_(1)
    return _signs[size]
