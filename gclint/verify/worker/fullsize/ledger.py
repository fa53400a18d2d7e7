"""Which bytes live, by what they are: every storage from the call that makes it to its end, real or fake."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gclint.verify.worker.fullsize.allocator import reserved

BLOCK = 512  # CUDA's allocator rounds each block up to a multiple of this (kMinBlockSize)


MADE_BY_STEP = ("optimizer state", "gradients")


class Ledger(TorchDispatchMode):  # type: ignore[misc]
    """Counts storages, rounded up as CUDA's allocator does.

    A storage is an activation or, made outside of forward, a temporary, until `tag` says better. `peak` is the most
    that lived at once since `restart`, `parts` what that was, `moment` when it came.
    """

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[int, int]] = []
        self.stepped = 0
        self.enter("forward")
        self.live, self._away = 0, False
        self._kinds: dict[str, int] = {}
        self._held: dict[int, tuple[str, int]] = {}
        self._numbers: dict[int, int] = {}
        self.restart()

    def enter(self, now: str) -> None:
        """Say what is going on from now on: "forward", "backward" or "optimizer step"."""
        self._now = now
        self.stepped = self.stepped or (now == "optimizer step") * len(self.events)
        self._kind = "activations" if now == "forward" else "temporaries"

    def leaving_out(self, function: Any) -> Any:
        """Return the function with whatever it makes left out of the account."""

        @functools.wraps(function)
        def uncounted(*args: Any, **kwargs: Any) -> Any:
            before, self._away = self._away, True
            try:
                return function(*args, **kwargs)
            finally:
                self._away = before

        return uncounted

    def begin(self) -> None:
        """A step begins: its events are kept from now on."""
        self.standing = [size for kind, size in self._held.values() if kind not in MADE_BY_STEP]
        self.states = [size for kind, size in self._held.values() if kind in MADE_BY_STEP]
        self.events, self.stepped = [], 0
        self.restart()

    def reserved(self) -> int:
        """What CUDA's allocator holds after some steps like the one that was kept."""
        return reserved(self.standing, self.states, self.events, self.stepped)

    def restart(self) -> None:
        """Forget the peak: what lives now is the first one."""
        self.peak, self.parts, self.moment = self.live, dict(self._kinds), self._now

    def tag(self, tensors: Iterable[Any], kind: str) -> None:
        """Say what the storages of `tensors` are."""
        for tensor in tensors:
            storage = getattr(tensor, "_local_tensor", tensor).untyped_storage()
            key = storage._cdata
            if key not in self._held:
                self._count(storage, kind)
                continue
            before, size = self._held[key]
            self._held[key] = (kind, size)
            self._kinds[before] -= size
            self._kinds[kind] = self._kinds.get(kind, 0) + size

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(hasattr(each, "_local_tensor") for each in types):
            return NotImplemented  # a sharded tensor asks again, with its own part
        made = self.call(function, args, kwargs or {})
        for each in (made,) if isinstance(made, torch.Tensor) else tree_leaves(made):
            if isinstance(each, torch.Tensor) and not self._away:
                storage = each.untyped_storage()
                if storage._cdata not in self._held:
                    self._count(storage, self._kind)
        return made

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Run an operation."""
        return function(*args, **kwargs)

    def resized(self, storage: Any) -> None:
        """A storage has another size now: FSDP empties what it gathered, and fills it again."""
        if storage._cdata in self._held:
            kind, before = self._held[storage._cdata]
            size = _rounded(storage)
            self._grow(kind, -before)
            self._held[storage._cdata] = ("gathered", size)
            self._grow("gathered", size)

    def _count(self, storage: Any, kind: str) -> None:
        key, size = storage._cdata, _rounded(storage)
        self._held[key] = (kind, size)
        self._numbers[key] = len(self.events)
        self.events.append((len(self.events), size))
        self._grow(kind, size)
        weakref.finalize(storage, self._ended, key)

    def _grow(self, kind: str, size: int) -> None:
        self._kinds[kind] = self._kinds.get(kind, 0) + size
        self.live += size
        if self.live > self.peak:
            self.restart()

    def _ended(self, key: int) -> None:
        kind, size = self._held.pop(key)
        self.events.append((self._numbers.pop(key), 0))
        self._kinds[kind] -= size
        self.live -= size


def _rounded(storage: Any) -> int:
    return -(-int(storage.nbytes()) // BLOCK) * BLOCK
