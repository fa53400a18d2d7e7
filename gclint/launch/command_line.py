"""The runs that one command line is about to start: their processes, environment, arguments and versions.

A command that runs a shell script, or make, starts what the commands of the script or the recipes start, each as the
script leaves it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gclint.check.request import project_root
from gclint.config import LIBRARIES
from gclint.launch.accelerate import configured
from gclint.launch.commands import PYTHON, started
from gclint.launch.devices import as_variables, visible_devices
from gclint.launch.launched import Invocation, Launch, Setting, Start
from gclint.launch.options import whole
from gclint.launch.programs import launch_of
from gclint.launch.shell_script import Shell
from gclint.launch.variables import OF_A_SHELL, together
from gclint.source.source import content

SHOWN = "<command line>"
# what differs between the processes of a run, so that no one process's value stands for all
_OF_A_PROCESS = frozenset(
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"}
)
_TELL_EVERY_PROCESS = frozenset({"torchrun", "deepspeed"})
_SIZES = ("WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
_OPEN = ("$", "`")
# srun starts one task where neither its options nor a job ask for more
_NO_JOB = {"SLURM_NNODES": "1"}


class Planned(NamedTuple):
    """A run that a command is about to start, and the versions of the libraries that its program will find."""

    launch: Launch
    versions: Mapping[str, str]


def planned(words: Sequence[str], environment: Mapping[str, str], directory: str) -> list[Planned]:
    """The runs that `words` start in `directory` on this machine, in order, each once.

    Those of a shell script are read from its commands. Empty where no Python file is started that can be found.
    """
    here = Path(os.path.abspath(directory))
    line = here / SHOWN
    settings = {name: Setting(name, value, 1, line) for name, value in environment.items()}
    shell = Shell(line, exported=settings, values=dict(environment), undecided=OF_A_SHELL)
    shell.source = lambda name, directory: _script(name, directory, here)
    runs: dict[Launch, Planned] = {}
    for found in shell.run(shlex.join(words)):
        known = {setting.name: setting.value for setting in found.environment}
        launch = _launch(found, known, here, visible_devices(known))
        if launch is not None and launch not in runs:
            runs[launch] = Planned(launch, installed_versions(found.words, known.get("PATH")))
    return list(runs.values())


def launch_of_command(words: Sequence[str], environment: Mapping[str, str], directory: str) -> Launch | None:
    """The launch that `words` make in `directory`, None where they start no Python file that can be found."""
    here = Path(os.path.abspath(directory))
    line = here / SHOWN
    settings = tuple(Setting(name, value, 1, line) for name, value in environment.items())
    return _launch(Invocation(tuple(words), 1, settings, "", line), environment, here, None)


def _launch(found: Invocation, environment: Mapping[str, str], here: Path, devices: int | None) -> Launch | None:
    """The launch of one command that is run in `here`, or in the directory to which its script changed."""
    start = started(found.words, {**_NO_JOB, **as_variables(), **environment})
    if start is None or start.program not in found.words:
        return None
    origin = found.path or here / SHOWN
    base = here if any(mark in found.directory for mark in _OPEN) else Path(os.path.normpath(here / found.directory))
    start = _alone(_sized(_configured(start, environment, base, devices), environment))
    program = Path(os.path.abspath(base / start.program))
    if start.module or not program.is_file():
        root = Path(project_root(os.fspath(base if origin.name == SHOWN or start.module else origin.parent), ()))
        words = found.words
    else:
        root = Path(project_root(os.fspath(program.parent), ()))
        relative = os.path.relpath(program, root)
        words = tuple(relative if word == start.program else word for word in found.words)
        start = replace(start, program=relative)
    away = os.path.relpath(base, root) if root in base.parents else ""
    settings = tuple(setting for setting in found.environment if setting.name not in _OF_A_PROCESS)
    directory = found.directory if base == here and found.directory else away
    undecided = together(found.undecided, tuple(_OF_A_PROCESS.intersection(environment)))
    return launch_of(start, Invocation(words, found.line, settings, directory, undecided=undecided), origin, root)


def _script(name: str, directory: str, here: Path) -> tuple[Path, str] | None:
    """The path and the text of a script that a command names, None where it is no file."""
    place = here if any(mark in directory for mark in _OPEN) else here / directory
    path = Path(os.path.normpath(place / os.path.expanduser(name)))
    return (path, content(path).decode("utf-8-sig", errors="replace")) if path.is_file() else None


def installed_versions(words: Sequence[str], path: str | None = None) -> dict[str, str]:
    """The versions of the libraries installed where the command's program will find them, by `path` or PATH."""
    from importlib import metadata

    launchers = (word for word in words if _runs_python(word.rsplit("/", 1)[-1]))
    places = _site_packages(next(launchers, ""), path)
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


def _site_packages(word: str, path: str | None) -> list[str] | None:
    """The package directories beside an executable of another environment; None for this one, or no executable."""
    executable = shutil.which(word, path=path)
    base = os.path.dirname(os.path.dirname(executable)) if executable else ""
    if not base or os.path.realpath(base) == os.path.realpath(sys.prefix):
        return None
    return [os.fspath(place) for place in Path(base).glob("lib/python3*/site-packages")] or None


def _configured(start: Start, environment: Mapping[str, str], here: Path, devices: int | None) -> Start:
    if start.launcher != "accelerate":
        return start
    home = environment.get("HF_HOME") or os.path.join(
        environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    path = here / start.config if start.config else Path(home, "accelerate", "default_config.yaml")
    return configured(start, content(path).decode("utf-8", errors="replace"), devices)


def _alone(start: Start) -> Start:
    """What a launcher that tells every process its number tells the only one."""
    if start.launcher not in _TELL_EVERY_PROCESS or start.world_size != 1:
        return start
    told = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}
    return replace(start, environment=(*start.environment, *told.items()))


def _sized(start: Start, environment: Mapping[str, str]) -> Start:
    """What is started where this process is itself one of many, as in `srun gclint preflight -- python`."""
    if start.launcher != "python":
        return start
    size = max(whole(environment.get(name)) or 1 for name in _SIZES)
    return replace(start, world_size=size, distributed=size > 1)
