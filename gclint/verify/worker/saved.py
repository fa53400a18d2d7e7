"""How many bytes a forward keeps for its backward."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.checkpoint

from gclint.verify.worker.neutral import NON_REENTRANT


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
        name = next((each for each in reversed(NON_REENTRANT) if hasattr(module, each)), None)
        if name is None:
            yield
            return
        original = getattr(module, name)

        def counting(function: Any, *args: Any, **kwargs: Any) -> Any:
            # torch 2.15 hands the arguments over as a tuple and a dict
            inner = [each for held in args if isinstance(held, tuple) for each in held]
            inner += [each for held in args if isinstance(held, dict) for each in held.values()]
            for each in [*args, *kwargs.values(), *inner]:
                if torch.is_tensor(each):
                    self._pack(each)
            return original(function, *args, **kwargs)

        setattr(module, name, counting)
        try:
            yield
        finally:
            setattr(module, name, original)


def _countable(tensor: Any) -> bool:
    """Whether a tensor owns plain storage here: not on meta, not sharded, not another wrapper's."""
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    return plain and tensor.device.type != "meta" and tensor.layout == torch.strided
