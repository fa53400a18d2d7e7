"""What an optimizer keeps, and what its step needs for a moment, in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SINGLE = ("lion", "adagrad", "rmsprop", "momentum")


def state_bytes(name: str, parameters: Sequence[Any]) -> int:
    """Return the bytes of an optimizer's state for `parameters`, by its name in torch, Trainer or bitsandbytes.

    Adam and its kin keep two numbers a parameter in its dtype, the 8-bit ones two bytes; Adafactor a row and a
    column of each matrix in float32; SGD nothing. What is unknown counts as Adam.
    """
    name = name.lower()
    count = int(sum(each.numel() for each in parameters))
    size = int(sum(each.nbytes for each in parameters))
    if "8bit" in name:
        return count * (1 if "lion" in name else 2)
    if "4bit" in name:
        return count
    if "adafactor" in name:
        return 4 * int(sum(sum(each.shape[-2:]) for each in parameters))
    if any(each in name for each in SINGLE):
        return size
    return 0 if "sgd" in name else 2 * size


def step_bytes(name: str, parameters: Sequence[Any]) -> int:
    """Return the bytes that a step needs besides: a copy of the parameters where torch steps them all at once.

    torch's AdamW and Adam take the `foreach` way on GPUs, which makes such a copy; fused ones do not.
    """
    whole = name.lower() in ("adamw", "adam", "adamw_torch", "nadam", "radam")
    return int(sum(each.nbytes for each in parameters)) if whole else 0
