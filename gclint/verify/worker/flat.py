"""Parameters and gradients that FSDP1 keeps in shards of flat tensors, whole and by their own names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch


@contextlib.contextmanager
def whole(modules: list[Any]) -> Iterator[set[int]]:
    """Gather the parameters and gradients of the modules that are wrapped by FSDP1, while the block runs; yield the
    identities of the flat parameters, in whose place their parts stand.

    torch does so for gradients where `use_orig_params` is set (torch/distributed/fsdp/_unshard_param_utils.py); else
    the flat gradients are gathered here, and each parameter has its part.
    """
    held: set[int] = set()
    with contextlib.ExitStack() as stack:
        for module in modules:
            if type(module).__name__ == "FullyShardedDataParallel":
                flat = [each._handle for each in type(module).fsdp_modules(module) if _keeps_flat(each)]
                held |= {id(handle.flat_param) for handle in flat}
                gradients = [_gathered(handle) for handle in flat]
                summoned = type(module).summon_full_params(module, with_grads=not flat, writeback=False)
                stack.enter_context(summoned)
                for handle, gradient in zip(flat, gradients, strict=True):
                    _give(handle, gradient)
        yield held


def _keeps_flat(module: Any) -> bool:
    return module._handle is not None and not module._use_orig_params


def _gathered(handle: Any) -> Any:
    """The whole flat gradient of a handle, None where there is none."""
    shard = handle.flat_param.grad
    if shard is None or not handle.uses_sharded_strategy:
        return shard
    parts = [torch.empty_like(shard) for _ in range(handle.world_size)]
    torch.distributed.all_gather(parts, shard, group=handle.process_group)
    return torch.cat(parts)[: handle.flat_param._unpadded_unsharded_size.numel()]


def _give(handle: Any, gradient: Any) -> None:
    if gradient is not None:
        parts = handle._get_unflat_views(gradient)
        for part, (name, owner, _) in zip(parts, handle.flat_param._param_infos, strict=True):
            getattr(owner, name).grad = part
