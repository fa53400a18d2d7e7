"""The reference run: the same code with checkpointing a plain call and data parallelism a plain average.

Checkpointing is neutralised below the public function, by the two names that it looks up when it is called
(present in torch 2.1 to 2.13), so it does not matter who imported it, or when.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.checkpoint

_wrapped: list[Any] = []


class PlainParallel(torch.nn.Module):  # type: ignore[misc]
    """Stands in for DistributedDataParallel: same attributes, no hooks, parameters equal on all ranks."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any):
        super().__init__()
        self.module = module
        self.require_backward_grad_sync = True
        _wrapped.append(module)
        if torch.distributed.is_initialized():
            for tensor in [*module.parameters(), *module.buffers()]:
                torch.distributed.broadcast(tensor.data, 0)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapped module."""
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Do nothing: gradients are averaged at the step."""
        yield

    def _set_static_graph(self) -> None:
        return None

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        """Do nothing."""


def neutralise() -> None:
    """Make checkpointing and DistributedDataParallel plain in this process."""
    module = torch.utils.checkpoint
    if hasattr(module, "CheckpointFunction"):
        module.CheckpointFunction = _PlainCheckpoint
    if hasattr(module, "_checkpoint_without_reentrant_generator"):
        module._checkpoint_without_reentrant_generator = _plain_generator
    torch.nn.parallel.DistributedDataParallel = PlainParallel
    torch.nn.parallel.distributed.DistributedDataParallel = PlainParallel


def average_gradients(parameters: list[Any]) -> None:
    """Average the gradients over the ranks, where the run wrapped a model for data parallelism."""
    if not _wrapped or not torch.distributed.is_initialized():
        return
    size = torch.distributed.get_world_size()
    for parameter in parameters:
        has = torch.tensor(float(parameter.grad is not None))
        torch.distributed.all_reduce(has)
        if has.item() == 0:
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        torch.distributed.all_reduce(parameter.grad)
        parameter.grad /= size


class _PlainCheckpoint:
    @staticmethod
    def apply(function: Any, preserve: bool, *args: Any) -> Any:
        return function(*args)


def _plain_generator(*args: Any, **kwargs: Any) -> Iterator[None]:
    yield
