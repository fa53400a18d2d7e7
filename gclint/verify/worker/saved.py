"""How many bytes a forward keeps for its backward."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.checkpoint


class SavedBytes:
    """Counts distinct storages kept for backward, parameters left out; `total` is in bytes."""

    def __init__(self, parameters: list[Any]):
        self.total = 0
        self._seen = {each.untyped_storage().data_ptr() for each in parameters if _countable(each)}

    @contextlib.contextmanager
    def measure(self) -> Iterator[None]:
        """Count while the block runs its forward and backward."""
        inputs = self._count_inputs()
        with inputs, torch.autograd.graph.saved_tensors_hooks(self._pack, lambda tensor: tensor):
            yield

    def _pack(self, tensor: Any) -> Any:
        if _countable(tensor):
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in self._seen:
                self._seen.add(storage.data_ptr())
                self.total += storage.nbytes()
        return tensor

    @contextlib.contextmanager
    def _count_inputs(self) -> Iterator[None]:
        """Count what a non-reentrant region keeps outside the hooks: its arguments."""
        module = torch.utils.checkpoint
        original = getattr(module, "_checkpoint_without_reentrant_generator", None)
        if original is None:
            yield
            return

        def counting(function: Any, *args: Any, **kwargs: Any) -> Any:
            for each in [*args, *kwargs.values()]:
                if torch.is_tensor(each):
                    self._pack(each)
            return original(function, *args, **kwargs)

        module._checkpoint_without_reentrant_generator = counting
        try:
            yield
        finally:
            module._checkpoint_without_reentrant_generator = original


def _countable(tensor: Any) -> bool:
    """Whether a tensor owns plain storage here: not on meta, not sharded, not another wrapper's."""
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    return plain and tensor.device.type != "meta" and tensor.layout == torch.strided
