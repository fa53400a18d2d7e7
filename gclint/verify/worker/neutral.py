"""The reference run: the same code with checkpointing a plain call and data parallelism a plain average.

Checkpointing is neutralised below the public function, by the two names that it looks up when it is called
(torch/utils/checkpoint.py of 2.1 to 2.13; 2.15 has another for the second), so it does not matter who imported it, or
when.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.checkpoint

NON_REENTRANT = ("_checkpoint_without_reentrant_generator", "_checkpoint_without_reentrant_generator_impl")
_wrappers: list[Any] = []


class PlainParallel(torch.nn.Module):  # type: ignore[misc]
    """Stands in for DistributedDataParallel: same attributes, no hooks, parameters equal on all ranks."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any):
        super().__init__()
        self.module = module
        self.require_backward_grad_sync = True
        _wrappers.append(self)
        if torch.distributed.is_initialized():
            for tensor in [*module.parameters(), *module.buffers()]:
                torch.distributed.broadcast(tensor.data, 0)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapped module."""
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Leave the gradients of this rank as they are meanwhile."""
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = True

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Clip the averaged gradients, as FSDP's method does for the sharded ones."""
        return torch.nn.utils.clip_grad_norm_(self.module.parameters(), max_norm, norm_type)

    def _set_static_graph(self) -> None:
        return None

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        """Do nothing."""


def neutralise() -> None:
    """Make checkpointing, DDP and FSDP plain in this process."""
    module = torch.utils.checkpoint
    if hasattr(module, "CheckpointFunction"):
        module.CheckpointFunction = _PlainCheckpoint
    for name in NON_REENTRANT:
        if hasattr(module, name):
            setattr(module, name, _plain_generator)
    torch.nn.parallel.DistributedDataParallel = PlainParallel
    torch.nn.parallel.distributed.DistributedDataParallel = PlainParallel
    sharding = importlib.import_module("torch.distributed.fsdp") if torch.distributed.is_available() else None
    for name, stand_in in (("FullyShardedDataParallel", PlainParallel), ("fully_shard", _unsharded)):
        if hasattr(sharding, name):
            setattr(sharding, name, stand_in)


def average_gradients() -> None:
    """Average the gradients of the wrapped modules over the ranks, as a backward under DDP leaves them."""
    if not torch.distributed.is_initialized():
        return
    size = torch.distributed.get_world_size()
    for wrapper in _wrappers:
        if not wrapper.require_backward_grad_sync:
            continue
        for parameter in wrapper.module.parameters():
            if parameter.requires_grad and _any_rank_has(parameter):
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                torch.distributed.all_reduce(parameter.grad)
                parameter.grad /= size


def _any_rank_has(parameter: Any) -> bool:
    has = torch.tensor(float(parameter.grad is not None), device=parameter.device)
    torch.distributed.all_reduce(has)
    return bool(has.item())


def _unsharded(module: Any, *args: Any, **kwargs: Any) -> Any:
    """Stands in for `fully_shard`: the module stays whole, its gradients are averaged."""
    if not any(module in wrapper.module.modules() for wrapper in _wrappers):
        PlainParallel(module)
    return module


class _PlainCheckpoint:
    @staticmethod
    def apply(function: Any, preserve: bool, *args: Any) -> Any:
        return function(*args)


def _plain_generator(*args: Any, **kwargs: Any) -> Iterator[None]:
    yield
