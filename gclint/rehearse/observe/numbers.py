"""Numbers by which things are told apart, and the random numbers that are drawn on the way to them."""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from typing import Any

import torch

DEEPEST = 4


def numbers(item: Any, depth: int = 0) -> list[float]:
    """Of each tensor or array in a thing a sum and a weighted sum; plain numbers as they are."""
    if isinstance(item, (bool, int, float)):
        return [float(item)]
    if hasattr(item, "__array__") and not torch.is_tensor(item):
        with suppress(TypeError, ValueError):
            item = torch.as_tensor(item)
    if torch.is_tensor(item):
        flat = item.detach().reshape(-1).double()
        return [float(flat.sum()), float((flat * torch.arange(flat.numel()).add(0.37).cos()).sum())]
    held = list(item.values()) if hasattr(item, "keys") and hasattr(item, "values") else item
    if depth > DEEPEST or not isinstance(held, (list, tuple)):
        return []
    return [number for each in held for number in numbers(each, depth + 1)]


def reals(item: Any) -> list[float]:
    """The real numbers in what a function returns; counts are none."""
    if isinstance(item, float) or (torch.is_tensor(item) and item.numel() == 1 and item.is_floating_point()):
        return [float(item)]
    held = list(item.values()) if isinstance(item, dict) else item
    return [number for each in held for number in reals(each)] if isinstance(held, (list, tuple)) else []


def alike(one: list[float], other: list[float]) -> bool:
    """Whether numbers are the same but for rounding, or not finite in the same way."""
    return len(one) == len(other) and all(
        abs(a - b) <= 1e-4 * max(abs(a), abs(b)) + 1e-6 or a == b or (a != a and b != b)
        for a, b in zip(one, other, strict=True)
    )


def random_states() -> tuple[Any, ...]:
    """The states of the generators of torch, Python and numpy, for `restore`."""
    numpy = sys.modules.get("numpy")
    return torch.get_rng_state(), random.getstate(), numpy.random.get_state() if numpy is not None else None


def restore(states: tuple[Any, ...]) -> None:
    """Set the generators to what they were."""
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    if states[2] is not None:
        sys.modules["numpy"].random.set_state(states[2])
