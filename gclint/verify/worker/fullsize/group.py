"""One process of several at full size: the others exist by number only, and nothing is sent to them.

The group is torch's own for this (torch/testing/_internal/distributed/fake_pg.py), as torchtitan's estimate of memory
uses it. Sharded parameters have this process's share, gathered ones their whole size for as long as they are gathered.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import Any

import torch
from torch.distributed import device_mesh, distributed_c10d
from torch.nn.parallel import DistributedDataParallel

from gclint.verify.footprint import BUCKETS
from gclint.verify.worker.fullsize.fakes import for_real
from gclint.verify.worker.fullsize.ledger import Ledger


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
    _replaced(meshed, for_real(meshed))
    resize = torch.UntypedStorage.resize_

    def resize_here(storage: Any, size: int) -> Any:
        made = resize(storage, size)
        ledger.resized(storage)
        return made

    torch.UntypedStorage.resize_ = resize_here
    _ddp_without_reducer(ledger)
    _fsdp_here()
    _shapes_cost_nothing(ledger)
    if "accelerate" in sys.modules:
        _as_on_accelerators()


def _shapes_cost_nothing(ledger: Ledger) -> None:
    """Sharded tensors find the shape of a result on tensors without numbers, which are none of the program's."""
    from torch.distributed.tensor._sharding_prop import ShardingPropagator

    kind: Any = ShardingPropagator
    made = kind._propagate_tensor_meta_non_cached
    kind._propagate_tensor_meta_non_cached = ledger.leaving_out(made)


def _as_on_accelerators() -> None:
    """What accelerate shards on accelerators only is sharded here too: it leaves out FSDP where it finds none."""
    states: Any = importlib.import_module("accelerate.state")
    kinds, kind = states.DistributedType, states.PartialState
    begin = kind.__init__

    @functools.wraps(begin)
    def begin_here(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        if self.distributed_type is kinds.MULTI_CPU:
            self.distributed_type, self.device = kinds.MULTI_GPU, torch.device("cpu")

    kind.__init__ = begin_here
    plugin: Any = importlib.import_module("accelerate.utils").FullyShardedDataParallelPlugin
    settle = plugin.__post_init__

    @functools.wraps(settle)
    def settle_here(self: Any) -> None:
        self.sync_module_states = self.cpu_ram_efficient_loading = False  # nobody is there to send weights to
        settle(self)

    plugin.__post_init__ = settle_here


def _fsdp_here() -> None:
    """FSDP1 works where the parameters are, whatever device the program names."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    kind: Any = FullyShardedDataParallel
    begin = kind.__init__

    @functools.wraps(begin)
    def begin_here(self: Any, *args: Any, device_id: Any = None, **kwargs: Any) -> None:
        begin(self, *args, device_id=torch.device("cpu"), **kwargs)

    kind.__init__ = begin_here


def _replaced(before: Any, after: Any) -> None:
    """Put one function in the place of another in every module that has it by its name."""
    name = before.__name__
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is before:
            setattr(module, name, after)


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
