"""On a machine without the accelerator that a program names, its tensors live on the CPU."""

from __future__ import annotations

import functools
import os
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gclint.verify.worker.shims import Replacements, queries

NAMES = ("cuda", "hip", "xpu", "mps", "npu")


def install(found: Replacements) -> None:
    """Send accelerator devices to the CPU, nccl to gloo, and the processes of a spawn to those of the run."""
    found.note("accelerator devices: the CPU")
    queries.install(found)
    _Redirect().__enter__()
    for owner in (torch.nn.Module, torch.Tensor):
        owner.cuda = lambda self, *args, **kwargs: self
    move = torch.nn.Module.to
    torch.nn.Module.to = lambda self, *args, **kwargs: move(self, *map(_place, args), **_here_all(kwargs))
    torch.load = _mapped_here(torch.load)
    torch.Generator = _Generator
    torch.distributed.init_process_group = _grouped_here(torch.distributed.init_process_group)
    _plain_ddp(torch.nn.parallel.DistributedDataParallel)
    _meshed_here()
    _plain_batch_norm(found)
    torch.nn.DataParallel = torch.nn.parallel.DataParallel = _Alone
    _tell_autocast(found)
    _spawn_here(found)


class _Redirect(TorchFunctionMode):  # type: ignore[misc]
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(function, "__name__", "") == "to":
            args = (args[0], *map(_place, args[1:]))
        if function is torch.device and args and isinstance(args[0], int):
            args = ("cpu",)  # the accelerator of this number
        if "device" in kwargs:
            kwargs = _here_all(kwargs)
        return function(*args, **kwargs)


class _Generator(torch.Generator):  # type: ignore[misc]
    """A generator of random numbers, on the CPU wherever it was meant to be."""

    def __new__(cls, device: Any = "cpu") -> Any:
        return super().__new__(cls, _place(device))


class _Alone(torch.nn.Module):  # type: ignore[misc]
    """DataParallel with no device to spread over: the module by itself."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any):
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*args, **kwargs)


def _mapped_here(load: Any) -> Any:
    @functools.wraps(load)
    def load_here(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        mapped = _here(map_location) if isinstance(map_location, (str, torch.device)) else "cpu"
        return load(file, mapped, *args, **kwargs)

    return load_here


def _grouped_here(begin: Any) -> Any:
    """Gloo in place of what was asked for, at the run's own rendezvous; alone where the run has one process."""
    given = {name: os.environ.get(name) for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")}

    @functools.wraps(begin)
    def begin_here(backend: Any = None, init_method: Any = None, timeout: Any = None, *args: Any, **kwargs: Any) -> Any:
        kept = {} if timeout is None else {"timeout": timeout}
        if given["WORLD_SIZE"] is None:
            return begin("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1, **kept)
        os.environ.update({name: value for name, value in given.items() if value is not None})
        return begin("gloo", **kept)

    return begin_here


def _tell_autocast(found: Replacements) -> None:
    """Autocast for an accelerator: to bfloat16 on the CPU, which does it too; else torch leaves it off, a limit."""
    kind: Any = torch.amp.autocast_mode.autocast
    begin = kind.__init__

    @functools.wraps(begin)
    def begin_here(
        self: Any, device_type: Any, dtype: Any = None, enabled: bool = True, *args: Any, **more: Any
    ) -> None:
        here = dtype is torch.bfloat16 and str(device_type) in NAMES
        begin(self, "cpu" if here else device_type, dtype, enabled, *args, **more)
        if here:
            found.note("autocast to bfloat16 on an accelerator: on the CPU")
        elif enabled and str(device_type) in NAMES and not self._enabled:
            found.limit(
                f"autocast to {str(dtype or 'half precision').removeprefix('torch.')} is not run on this device"
            )

    kind.__init__ = begin_here


def _spawn_here(found: Replacements) -> None:
    """`spawn` runs its function in the run's own processes, one each."""
    import torch.multiprocessing as processes

    def spawn(function: Any, args: Any = (), nprocs: int = 1, *ignored: Any, **also: Any) -> None:
        size = int(os.environ.get("WORLD_SIZE", "1"))
        found.note(f"spawn: {size} process{'es' * (size > 1)} of the run in place of {nprocs}")
        function(int(os.environ.get("RANK", "0")), *args)

    processes.spawn = spawn


def _plain_ddp(kind: Any) -> None:
    begin = kind.__init__

    @functools.wraps(begin)
    def begin_here(self: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, module, *args[2:], **{k: v for k, v in kwargs.items() if k not in _PLACES})

    kind.__init__ = begin_here


def _plain_batch_norm(found: Replacements) -> None:
    """Layers that normalise over all processes work on an accelerator only: they stay those of one process."""

    def convert(cls: Any, module: Any, process_group: Any = None) -> Any:
        found.limit("SyncBatchNorm is not run on this device: each process normalises by its own batch")
        return module

    torch.nn.SyncBatchNorm.convert_sync_batchnorm = classmethod(convert)


def _meshed_here() -> None:
    from torch.distributed.device_mesh import DeviceMesh

    begin: Any = DeviceMesh.__init__

    @functools.wraps(begin)
    def begin_here(self: Any, device_type: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, _here(device_type), *args, **kwargs)

    DeviceMesh.__init__ = begin_here


_PLACES = ("device_ids", "output_device")


def _here(value: Any) -> Any:
    named = str(value) if isinstance(value, (str, torch.device)) else ""
    return "cpu" if named.partition(":")[0] in (*NAMES, "cpu") else value


def _place(value: Any) -> Any:
    """As `_here`, where a number is a device's index."""
    return "cpu" if isinstance(value, int) and not isinstance(value, bool) else _here(value)


def _here_all(kwargs: dict[str, Any]) -> dict[str, Any]:
    if isinstance(kwargs.get("device"), int):
        kwargs = {**kwargs, "device": "cpu"}
    return {name: _here(value) if name == "device" else value for name, value in kwargs.items()}
