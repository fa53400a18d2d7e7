"""The device layer: which hardware a run uses, and how its ranks talk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Hardware:
    """`family`: cuda, rocm, xpu, mps or cpu; `device`: this rank's torch device; `backend`: of its group."""

    family: str
    device: Any
    backend: str
    name: str


def families() -> list[str]:
    """Return the device families present here, best first; "cpu" is always the last."""
    found = []
    if torch.cuda.is_available():
        found.append("rocm" if torch.version.hip else "cuda")
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        found.append("xpu")
    if hasattr(torch.backends, "mps") and torch.backends.mps.is_available():
        found.append("mps")
    return [*found, "cpu"]


def choose(wanted: str, local_rank: int, local_world: int) -> Hardware:
    """Return the hardware for one rank: one rank per device, else the CPU for all of them.

    Raise LookupError when a family is asked for by name and is not here.
    """
    if wanted == "auto" and local_world > 1:
        _hide_too_few(local_world)
    present = families()
    family = present[0] if wanted == "auto" else wanted
    if family not in present:
        raise LookupError(f"no {family} device here (present: {', '.join(present)})")
    if _count(family) < local_world:
        if wanted not in ("auto", "cpu"):
            raise LookupError(f"{local_world} ranks need as many {family} devices; {_count(family)} here")
        family = "cpu"
    return _hardware(family, local_rank)


def _hide_too_few(ranks: int) -> None:
    """Let torch see none of the GPUs where there are fewer than ranks: what it places by itself, such as the mesh of
    `fully_shard`, would ask for one that is not there. Counting them does not start CUDA
    (torch/cuda/__init__.py, device_count), which reads the variable when it starts.
    """
    if 0 < torch.cuda.device_count() < ranks:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def _count(family: str) -> int:
    if family in ("cuda", "rocm"):
        return int(torch.cuda.device_count())
    if family == "xpu":
        return int(torch.xpu.device_count())
    return 1 if family == "mps" else 1 << 16


def _hardware(family: str, local_rank: int) -> Hardware:
    if family in ("cuda", "rocm"):
        name = str(torch.cuda.get_device_name(local_rank))
        return Hardware(family, torch.device("cuda", local_rank), "nccl", f"{family} ({name})")
    if family == "xpu":
        return Hardware(family, torch.device("xpu", local_rank), "xccl", "xpu")
    if family == "mps":
        return Hardware(family, torch.device("mps"), "gloo", "mps")
    return Hardware("cpu", torch.device("cpu"), "gloo", "cpu")


def reset_peak(hardware: Hardware) -> None:
    """Start a new peak-memory measurement on a device that counts its own memory."""
    if hardware.family in ("cuda", "rocm"):
        torch.cuda.reset_peak_memory_stats(hardware.device)


def peak_bytes(hardware: Hardware) -> int | None:
    """Return the device's peak allocated bytes; None where only the process's memory can be measured."""
    if hardware.family in ("cuda", "rocm"):
        return int(torch.cuda.max_memory_allocated(hardware.device))
    return None


def capacity(hardware: Hardware) -> int | None:
    """Return the device's memory in bytes; None for the CPU and where nothing tells."""
    if hardware.family in ("cuda", "rocm"):
        return int(torch.cuda.get_device_properties(hardware.device).total_memory)
    if hardware.family == "xpu":
        return int(torch.xpu.get_device_properties(hardware.device).total_memory)
    return None
