"""The run that one command line is about to start: its processes, environment, arguments and versions."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from gclint.config import LIBRARIES
from gclint.files.source import content
from gclint.gather import project_root
from gclint.launch.accelerate import configured
from gclint.launch.commands import PYTHON, started
from gclint.launch.launched import Invocation, Launch, Setting, Start
from gclint.launch.options import whole
from gclint.launch.programs import launch_of

SHOWN = "<command line>"
# what differs between the processes of a run, so that no one process's value stands for all
_OF_A_PROCESS = frozenset(
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"}
)
_KFD = "/sys/class/kfd/kfd/topology/nodes"
_SIZES = ("WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")


def launch_of_command(words: Sequence[str], environment: Mapping[str, str], directory: str) -> Launch | None:
    """The launch that `words` make in `directory`, None where they start no Python file that can be found."""
    here = Path(os.path.abspath(directory))
    known = {**_devices_as_variables(environment), **environment}
    start = started(words, known)
    if start is None or start.program not in words:
        return None
    start = _sized(_configured(start, environment, here), environment)
    program = here if start.module else Path(os.path.abspath(here / start.program)).parent
    root = Path(project_root(os.fspath(program), ()))
    if not start.module:
        absolute = os.path.abspath(here / start.program)
        relative = os.path.relpath(absolute, root)
        words = [relative if word == start.program else word for word in words]
        start = replace(start, program=relative)
    line = here / SHOWN
    settings = tuple(Setting(name, value, 1, line) for name, value in environment.items() if name not in _OF_A_PROCESS)
    away = os.path.relpath(here, root) if root in here.parents else ""
    return launch_of(start, Invocation(tuple(words), 1, settings, away), line, root)


def installed_versions(words: Sequence[str]) -> dict[str, str]:
    """The versions of the libraries installed where the command's program will find them."""
    launchers = (word for word in words if _runs_python(word.rsplit("/", 1)[-1]))
    places = _site_packages(next(launchers, ""))
    versions: dict[str, str] = {}
    if places is None:
        for name in LIBRARIES:
            try:
                versions[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
    else:
        for item in metadata.distributions(path=places):
            name = (item.metadata["Name"] or "").lower().replace("_", "-")
            if name in LIBRARIES:
                versions.setdefault(name, item.version)
    return {name: version.split("+")[0] for name, version in versions.items()}


def _runs_python(name: str) -> bool:
    return name in ("torchrun", "accelerate", "accelerate-launch", "deepspeed") or bool(PYTHON.fullmatch(name))


def _site_packages(word: str) -> list[str] | None:
    """The package directories beside an executable of another environment; None for this one, or no executable."""
    path = shutil.which(word)
    base = os.path.dirname(os.path.dirname(path)) if path else ""
    if not base or os.path.realpath(base) == os.path.realpath(sys.prefix):
        return None
    return [os.fspath(place) for place in Path(base).glob("lib/python3*/site-packages")] or None


def _configured(start: Start, environment: Mapping[str, str], here: Path) -> Start:
    if start.launcher != "accelerate":
        return start
    home = environment.get("HF_HOME") or os.path.join(
        environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    path = here / start.config if start.config else Path(home, "accelerate", "default_config.yaml")
    return configured(start, content(path).decode("utf-8", errors="replace"))


def _sized(start: Start, environment: Mapping[str, str]) -> Start:
    """What is started where this process is itself one of many, as in `srun gclint preflight -- python`."""
    if start.launcher != "python":
        return start
    size = max((whole(environment.get(name)) or 1 for name in _SIZES), default=1)
    return start if size == 1 else replace(start, world_size=size, distributed=True)


def _devices_as_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The devices of this machine in the words of a launcher's environment; empty where they cannot be told."""
    for name, place in (("CUDA_VISIBLE_DEVICES", "/proc/driver/nvidia/gpus"), ("HIP_VISIBLE_DEVICES", _KFD)):
        try:
            found = [entry for entry in os.listdir(place) if place != _KFD or _computes(entry)]
        except OSError:
            continue
        if found:
            return {name: ",".join(str(number) for number in range(len(found)))}
    return {}


def _computes(node: str) -> bool:
    try:
        with open(os.path.join(_KFD, node, "properties"), encoding="ascii") as file:
            return any(line.startswith("simd_count") and line.split()[1] != "0" for line in file)
    except (OSError, IndexError):
        return False
