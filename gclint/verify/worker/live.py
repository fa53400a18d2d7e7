"""How many bytes of tensors live at once while code runs: real tensors or fake ones, by the same count."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

BLOCK = 512


class LiveBytes(TorchDispatchMode):  # type: ignore[misc]
    """Counts storages from the call that makes them to their end, as CUDA's allocator rounds them (512 bytes).

    `peak` is the most that lived at once beside the tensors in `known`; `held` are the bytes of
    gradients, made since, of the parameters given to `watch_gradients`.
    """

    def __init__(self, known: Iterable[Any] = ()):
        super().__init__()
        self.live = self.peak = self.held = 0
        self._gradients = 0
        self._hooks: list[Any] = []
        self._seen: set[int] = set()
        self._ends: dict[int, Any] = {}
        for tensor in known:
            storage = tensor.untyped_storage()
            self._ends[storage._cdata] = weakref.finalize(storage, self._ends.pop, storage._cdata, None)

    def watch_gradients(self, parameters: Iterable[Any]) -> None:
        """Tell the gradients of `parameters` from other tensors from now on."""
        for parameter in (each for each in parameters if each.grad is None):
            self._hooks.append(parameter.register_post_accumulate_grad_hook(self._gradient))

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for hook in self._hooks:
            hook.remove()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for each in tree_leaves(made):
            if isinstance(each, torch.Tensor):
                self._count(each.untyped_storage())
        return made

    def _count(self, storage: Any) -> None:
        key = storage._cdata
        if key in self._ends:
            return
        size = -(-storage.nbytes() // BLOCK) * BLOCK
        self.live += size
        if self.live > self.peak:
            self.peak, self.held = self.live, self._gradients
        self._ends[key] = weakref.finalize(storage, self._ended, key, size)

    def _ended(self, key: int, size: int) -> None:
        self._ends.pop(key, None)
        self.live -= size

    def _gradient(self, parameter: Any) -> None:
        if id(parameter) not in self._seen:
            self._seen.add(id(parameter))
            self._gradients += parameter.grad.nbytes
