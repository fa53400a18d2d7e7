"""Fake tensors for a whole program: it may ask for their numbers, and is told that nothing is special about them.

A number read from a fake tensor is 1, a truth is False, and a mask lets everything through, which is the most
memory that it can cost. Loaders of data work on real tensors.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.utils._python_dispatch import _disable_current_modes

from gclint.verify.worker.fullsize.ledger import Ledger

aten = torch.ops.aten
MASKED = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default)


class FakeLedger(Ledger):
    """A ledger of fake tensors, whose numbers may be asked for."""

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Run an operation; where it depends on numbers, give those that this module promises."""
        if function in MASKED:
            args = (args[0], [_everything(each) for each in args[1]], *args[2:])
        try:
            return function(*args, **kwargs)
        except DataDependentOutputException:
            if function is not aten._local_scalar_dense.default:
                raise
            dtype = args[0].dtype
            return False if dtype is torch.bool else 1.0 if dtype.is_floating_point else 1
        except DynamicOutputShapeException:
            return _whole(function, args)


def _everything(index: Any) -> Any:
    """The places that a mask lets through, all of them."""
    if not isinstance(index, torch.Tensor) or index.dtype is not torch.bool:
        return index
    return torch.zeros(index.numel(), dtype=torch.long) if index.ndim == 1 else index.new_zeros(index.shape).long()


def _whole(function: Any, args: Any) -> Any:
    first = args[0]
    if function is aten.nonzero.default:
        return torch.empty((first.numel(), first.ndim), dtype=torch.long)
    if function is aten.masked_select.default:
        return torch.empty(first.numel(), dtype=first.dtype)
    if function is aten.bincount.default:
        return torch.empty(max(1, *args[2:3]), dtype=torch.long)
    if "unique" in str(function):
        return first.flatten().clone(), torch.empty(first.shape, dtype=torch.long), torch.empty(0, dtype=torch.long)
    raise DynamicOutputShapeException(function)


def install() -> FakeLedger:
    """Make every tensor from now on a fake one, and return the ledger that counts them."""
    FakeTensorMode(allow_non_fake_inputs=True).__enter__()
    ledger = FakeLedger()
    ledger.__enter__()
    torch.nn.Module._apply = _apply
    torch.Tensor.numpy = _numpy(torch.Tensor.numpy)
    torch.Tensor.data_ptr = _address(torch.Tensor.data_ptr)
    kind: Any = torch.utils.data.dataloader._BaseDataLoaderIter
    kind.__next__ = for_real(kind.__next__)
    torch.utils.data.DataLoader.__iter__ = for_real(torch.utils.data.DataLoader.__iter__)
    return ledger


def for_real(function: Any) -> Any:
    """Return the function as it works on real tensors, also while fake ones are made."""

    @functools.wraps(function)
    def real(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return function(*args, **kwargs)

    return real


def _address(original: Any) -> Any:
    """Addresses by which fake tensors are told apart: theirs are all 0."""

    @functools.wraps(original)
    def data_ptr(self: Any) -> int:
        if not isinstance(self, FakeTensor):
            return int(original(self))
        storage: int = self.untyped_storage()._cdata
        return storage + int(self.storage_offset()) * int(self.element_size())

    return data_ptr


def _numpy(original: Any) -> Any:
    @functools.wraps(original)
    def numpy(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(self, FakeTensor):
            return original(self, *args, **kwargs)
        import numpy as np

        return np.ones(tuple(self.shape), dtype=str(self.dtype).removeprefix("torch.").replace("bfloat16", "float32"))

    return numpy


def _apply(self: Any, function: Any, recurse: bool = True) -> Any:
    """`Module._apply` where a parameter stays the same object, which torch does not do for fake ones."""
    for module in self.children() if recurse else ():
        module._apply(function)
    with torch.no_grad():
        for each in self._parameters.values():
            if each is not None:
                each.data = function(each.data)
                if each.grad is not None:
                    each.grad = function(each.grad)
    for name, each in self._buffers.items():
        if each is not None:
            self._buffers[name] = function(each)
    return self
