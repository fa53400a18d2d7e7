"""On a machine without the accelerator that a program names, its tensors live on the CPU."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gclint.verify.worker.shims import Replacements

NAMES = ("cuda", "hip", "xpu", "mps", "npu")
SILENT = (
    "set_device",
    "synchronize",
    "empty_cache",
    "reset_peak_memory_stats",
    "manual_seed_all",
    "manual_seed",
)


def install(found: Replacements) -> None:
    """Send accelerator devices to the CPU, nccl to gloo."""
    found.note("accelerator devices: the CPU")
    _Redirect().__enter__()
    for owner in (torch.nn.Module, torch.Tensor):
        owner.cuda = lambda self, *args, **kwargs: self
    move = torch.nn.Module.to
    torch.nn.Module.to = lambda self, *args, **kwargs: move(self, *map(_place, args), **_here_all(kwargs))
    for name in SILENT:
        setattr(torch.cuda, name, lambda *args, **kwargs: None)
    begin = torch.distributed.init_process_group

    @functools.wraps(begin)
    def begin_here(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device_id", None)
        return begin("gloo", *args, **kwargs)

    torch.distributed.init_process_group = begin_here
    _plain_ddp(torch.nn.parallel.DistributedDataParallel)


class _Redirect(TorchFunctionMode):  # type: ignore[misc]
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(function, "__name__", "") == "to":
            args = (args[0], *map(_place, args[1:]))
        if "device" in kwargs:
            kwargs = _here_all(kwargs)
        return function(*args, **kwargs)


def _plain_ddp(kind: Any) -> None:
    begin = kind.__init__

    @functools.wraps(begin)
    def begin_here(self: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, module, *args[2:], **{k: v for k, v in kwargs.items() if k not in _PLACES})

    kind.__init__ = begin_here


_PLACES = ("device_ids", "output_device")


def _here(value: Any) -> Any:
    named = str(value) if isinstance(value, (str, torch.device)) else ""
    return "cpu" if named.partition(":")[0] in NAMES else value


def _place(value: Any) -> Any:
    """As `_here`, where a number is a device's index."""
    return "cpu" if isinstance(value, int) and not isinstance(value, bool) else _here(value)


def _here_all(kwargs: dict[str, Any]) -> dict[str, Any]:
    if isinstance(kwargs.get("device"), int):
        kwargs = {**kwargs, "device": "cpu"}
    return {name: _here(value) if name == "device" else value for name, value in kwargs.items()}
