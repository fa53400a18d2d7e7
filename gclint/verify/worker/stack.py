"""A long stack of equal layers measured by two short ones, where the rest follows.

The fullest moment of a step grows with the layers by what forward keeps of each, or by each one's gradients. Where
the first is at least the second, and is what it grows by between the two short stacks, it goes on so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gclint.verify.worker.layers import layer_lists

SHORT = (3, 5)
LEAST = 10
SAME = 0.01


@dataclass(frozen=True)
class Peak:
    """The most bytes that lived at once in a step, those of gradients among them, and those kept by forward."""

    peak: int
    held: int
    kept: int


def equal_layers(model: Any) -> Any | None:
    """Return the one list of layers of `model` if it is long and its layers are of one kind, else None."""
    lists = layer_lists(model)
    if len(lists) != 1 or len(lists[0][1]) < LEAST:
        return None
    kinds = {_kind(layer) for layer in lists[0][1]}
    return lists[0][1] if len(kinds) == 1 else None


@contextlib.contextmanager
def cut(holder: Any, count: int) -> Iterator[None]:
    """Leave the first `count` layers of a list while the block runs."""
    rest = list(holder)[count:]
    del holder[count:]
    try:
        yield
    finally:
        holder.extend(rest)


def stretched(short: Peak, longer: Peak, total: int, gradients: int) -> Peak | None:
    """Return the peak of `total` layers from those of `SHORT` ones, None where it does not follow.

    `gradients` are the bytes that a layer's gradients add in the step.
    """
    more = SHORT[1] - SHORT[0]
    kept, grown = (longer.kept - short.kept) / more, (longer.peak - short.peak) / more
    if kept < gradients or abs(grown - kept) > SAME * kept:
        return None
    rest = int((total - SHORT[1]) * kept)
    return Peak(longer.peak + rest, longer.held, longer.kept + rest)


def _kind(layer: Any) -> tuple[Any, ...]:
    named = tuple((name, each.shape, each.dtype, each.requires_grad) for name, each in layer.named_parameters())
    return type(layer), named
