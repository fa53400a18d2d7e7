"""The accelerators that this machine has, and those that an environment shows to a program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from glob import glob

_NVIDIA = "/proc/driver/nvidia/gpus"
_KFD = "/sys/class/kfd/kfd/topology/nodes"
VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
# of other vendors, and of WSL, where the directories above do not list them
_OTHERS = (
    "/dev/dxg",
    "/dev/dri/renderD*",
    "/dev/accel*",
    "/dev/davinci*",
    "/dev/hl*",
    "/dev/neuron*",
    "/dev/cambricon*",
)
_HIDDEN = frozenset({"", "-1", "NoDevFiles"})


def visible_devices(environment: Mapping[str, str]) -> int | None:
    """How many accelerators a program with this environment sees here, None where that cannot be told."""
    for name in VARIABLES:
        value = environment.get(name)
        if value is not None:
            if "$" in value or "`" in value:
                return None
            return 0 if value.strip() in _HIDDEN else value.count(",") + 1
    found = sum(len(devices) for _, devices in _present())
    return found or (None if any(glob(pattern) for pattern in _OTHERS) else 0)


def as_variables() -> dict[str, str]:
    """The devices of this machine in the words of a launcher's environment; empty where there are none to be told."""
    return next((_numbered(name, devices) for name, devices in _present() if devices), {})


def _numbered(name: str, devices: list[str]) -> dict[str, str]:
    return {name: ",".join(str(number) for number in range(len(devices)))}


def _present() -> list[tuple[str, list[str]]]:
    """The devices of each kind, by the variable that numbers them."""
    found = []
    for name, place in (("CUDA_VISIBLE_DEVICES", _NVIDIA), ("HIP_VISIBLE_DEVICES", _KFD)):
        try:
            found.append((name, [entry for entry in os.listdir(place) if place != _KFD or _computes(entry)]))
        except OSError:
            continue
    return found


def _computes(node: str) -> bool:
    try:
        with open(os.path.join(_KFD, node, "properties"), encoding="ascii") as file:
            return any(line.startswith("simd_count") and line.split()[1] != "0" for line in file)
    except (OSError, IndexError):
        return False
