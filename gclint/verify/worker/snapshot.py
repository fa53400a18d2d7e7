"""Copies of parameters, and how far they have moved since."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from gclint.verify.worker.sketch import sketch

LIMIT = 1 << 30


class Snapshot:
    """Copies of the local parts of trainable parameters, of at most 1 GiB; empty ones and others are left out."""

    def __init__(self, parameters: Iterable[Any] = ()):
        self._kept: dict[int, Any] = {}
        budget = LIMIT
        for parameter in parameters:
            part = local(parameter)
            if not part.numel() or not parameter.requires_grad:
                continue
            budget -= part.numel() * part.element_size()
            if budget > 0:
                self._kept[id(parameter)] = parameter if part.device.type == "meta" else part.clone().cpu()

    def __bool__(self) -> bool:
        return bool(self._kept)

    def has(self, parameter: Any) -> bool:
        """Whether a copy of this parameter was kept."""
        return id(parameter) in self._kept

    def changed(self, parameter: Any) -> bool:
        """Whether a parameter differs from its copy; one without storage never does."""
        old = self._kept[id(parameter)]
        return old is not parameter and not torch.equal(local(parameter).cpu(), old)

    def move(self, parameter: Any) -> list[float]:
        """Return the sketch of what was added to a parameter since."""
        return sketch(local(parameter).cpu().double() - self._kept[id(parameter)].double())


def local(parameter: Any) -> Any:
    """Return a parameter's values, of a sharded one those of this rank."""
    value = parameter.detach()
    return value.to_local() if hasattr(value, "to_local") else value
