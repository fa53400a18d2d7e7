"""One process of several at full size: the others exist by number only, and nothing is sent to them.

The group is torch's own for this (torch/testing/_internal/distributed/fake_pg.py), as torchtitan's estimate of memory
uses it. Sharded parameters have this process's share, gathered ones their whole size for as long as they are gathered.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

import torch
from torch.distributed import device_mesh, distributed_c10d
from torch.nn.parallel import DistributedDataParallel

from gclint.verify.worker.fullsize.ledger import Ledger

BUCKETS = "DDP's buckets"


def install(ranks: int, ledger: Ledger) -> None:
    """Make this process the first of `ranks`, as a launcher says it: in the environment."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    told = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "MASTER_PORT": 29500}
    os.environ.update({"MASTER_ADDR": "127.0.0.1", **{name: str(value) for name, value in told.items()}})
    begin: Any = distributed_c10d.init_process_group
    changed: Any = torch.distributed.init_process_group

    def begin_here(*args: Any, **kwargs: Any) -> None:
        begin("fake", store=FakeStore(), rank=0, world_size=ranks)

    for each in (begin, changed):
        _replaced(each, begin_here)
    meshed: Any = device_mesh.init_device_mesh
    _replaced(meshed, _with_real_numbers(meshed))
    resize = torch.UntypedStorage.resize_

    def resize_here(storage: Any, size: int) -> Any:
        made = resize(storage, size)
        ledger.resized(storage)
        return made

    torch.UntypedStorage.resize_ = resize_here
    _ddp_without_reducer(ledger)


def _replaced(before: Any, after: Any) -> None:
    """Put one function in the place of another in every module that has it by its name."""
    name = before.__name__
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is before:
            setattr(module, name, after)


def _with_real_numbers(function: Any) -> Any:
    from torch.utils._python_dispatch import _disable_current_modes

    @functools.wraps(function)
    def real(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return function(*args, **kwargs)

    return real


def _ddp_without_reducer(ledger: Ledger) -> None:
    """DDP that keeps its buckets, as large as the gradients where these are not views of them, and reduces nothing."""
    kind: Any = DistributedDataParallel

    def begin(self: Any, module: Any, *args: Any, gradient_as_bucket_view: bool = False, **kwargs: Any) -> None:
        torch.nn.Module.__init__(self)
        self.module, self.require_backward_grad_sync = module, True
        self.device, self.gradient_as_bucket_view = torch.device("cpu"), gradient_as_bucket_view
        trained = [] if gradient_as_bucket_view else [each for each in module.parameters() if each.requires_grad]
        self._buckets = [torch.empty_like(each) for each in trained]
        ledger.tag(self._buckets, BUCKETS)

    kind.__init__ = begin
    kind.forward = lambda self, *args, **kwargs: self.module(*args, **kwargs)
    kind._set_static_graph = kind.register_comm_hook = lambda self, *args, **kwargs: None
    kind.__getstate__ = lambda self: self.__dict__
