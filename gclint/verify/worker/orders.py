"""The order in which loaders draw from their data, pass by pass."""

from __future__ import annotations

import hashlib
import weakref
from typing import Any

import torch
from torch.utils.data import DistributedSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from gclint.verify.outcome import Order


class Orders:
    """`found` has each whole pass of a loader over data by number, in the order in which they ended."""

    def __init__(self) -> None:
        self.found: list[Order] = []
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._passes: weakref.WeakKeyDictionary[Any, tuple[Any, list[int]]] = weakref.WeakKeyDictionary()

    def install(self) -> None:
        """Start watching this process."""
        kind: Any = _BaseDataLoaderIter
        begin, draw = kind.__init__, kind._next_index

        def begun(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            self._numbers.setdefault(loader, len(self._numbers))
            self._passes[iterator] = (hashlib.sha256(), [0, self._numbers[loader], _is_divided(loader)])
            begin(iterator, loader, *args, **kwargs)

        def drawn(iterator: Any) -> Any:
            try:
                index = draw(iterator)
            except StopIteration:
                self._ended(iterator)
                raise
            if iterator in self._passes:
                digest, counted = self._passes[iterator]
                digest.update(repr(index).encode())
                counted[0] += 1
            return index

        kind.__init__, kind._next_index = begun, drawn

    def _ended(self, iterator: Any) -> None:
        digest, (batches, loader, divided) = self._passes.pop(iterator, (None, (0, 0, 0)))
        if digest is not None:
            trains = torch.is_grad_enabled()  # an evaluation may see its batches in any order, each time the same
            self.found.append(Order(loader, batches, digest.hexdigest()[:16], bool(divided) and trains))


def _is_divided(loader: Any) -> bool:
    """Whether the loader's sampler shuffles the part of one process, by the epoch that it is told."""
    sampler = getattr(loader, "sampler", None)
    return isinstance(sampler, DistributedSampler) and bool(sampler.shuffle)
