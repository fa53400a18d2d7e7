"""What a launcher says of a run."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple


class Setting(NamedTuple):
    """An environment variable, its value, and where it is set."""

    name: str
    value: str
    line: int
    path: Path


@dataclass(frozen=True)
class Launch:
    """One place where a program is started.

    `world_size` is None when it is not known; `distributed` says whether more than one process is started
    (None: not known; True also when it is "as many as there are devices"). `strategy` is "ddp", "fsdp",
    "deepspeed" or "" (not said). `environment` has each variable once, as set last. What the text leaves open
    stays as it is written there: "$DATA", "$(nvidia-smi ...)". `configs` are the YAML, JSON and TOML files of
    the project that launcher or program are given. `function` is what an installed command calls in the
    program's module, "" where the program is run as a script. `module` is the program's dotted name where it is
    started by that (`python -m`), `directory` the working directory from which its file is found. `undecided` has
    patterns (of fnmatch) of the variables that `environment` leaves out and that may be set all the same, None where
    any may be. With `passes_rank` the launcher gives each process its number on the machine as an option.
    """

    path: Path
    line: int
    program: Path
    launcher: str
    world_size: int | None = None
    distributed: bool | None = None
    strategy: str = ""
    environment: tuple[Setting, ...] = ()
    arguments: tuple[str, ...] = ()
    configs: tuple[Path, ...] = ()
    function: str = ""
    module: str = ""
    directory: Path | None = None
    undecided: tuple[str, ...] | None = None
    passes_rank: bool = False

    def lacks(self, name: str) -> bool:
        """Whether the program is certainly started without an environment variable."""
        if self.undecided is None or self.variable(name) is not None:
            return False
        return not any(fnmatchcase(name, pattern) for pattern in self.undecided)

    def variable(self, name: str) -> Setting | None:
        """The environment variable of that name, None when the launcher does not set it."""
        return next((setting for setting in self.environment if setting.name == name), None)


@dataclass(frozen=True)
class Invocation:
    """A command with its variables expanded; `directory` is where a `cd` led, "" when none did.

    `path` is the script that holds the command, where that is another than the one that was read. `undecided` are the
    variables besides `environment` as those of a `Launch`.
    """

    words: tuple[str, ...]
    line: int
    environment: tuple[Setting, ...] = ()
    directory: str = ""
    path: Path | None = None
    undecided: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Start:
    """What the words of one command start. `program` is a path as written, or a module when `module`.

    `options` are those of `accelerate launch` itself, `environment` the variables that it sets, `undecided` those that
    it may set, `passes_rank` as those of a `Launch`.
    """

    launcher: str
    program: str
    module: bool = False
    arguments: tuple[str, ...] = ()
    world_size: int | None = None
    distributed: bool | None = None
    strategy: str = ""
    config: str = ""
    options: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    undecided: tuple[str, ...] | None = ()
    passes_rank: bool = False
