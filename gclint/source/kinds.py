"""What a file is, told by its name alone."""

from __future__ import annotations

import os
import re
from typing import Literal

Kind = Literal["python", "notebook", "yaml", "json", "toml", "ini", "shell", "make", "docker", "requirements", "other"]

_BY_SUFFIX: dict[str, Kind] = {
    ".py": "python",
    ".pyi": "python",
    ".pyw": "python",
    ".ipynb": "notebook",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".toml": "toml",
    ".lock": "toml",
    ".cfg": "ini",
    ".ini": "ini",
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".slurm": "shell",
    ".sbatch": "shell",
    ".mk": "make",
    ".dockerfile": "docker",
}
SIDE_DIRECTORIES = (
    "requirements", "constraints", "environment", "environments", "env", "envs", "docker", "scripts",
    ".devcontainer", ".github/workflows", ".circleci", "docs",
)  # fmt: skip
"""Directories whose files tell versions as those beside them do."""
_REQUIREMENTS = re.compile(r"(requirements|constraints|reqs)[^/]*\.(txt|in|pip)\Z")
_TELLING = re.compile(
    r"(?i)(?:readme|install|getting.?started|setup).*|(?:train|quick.?start|usage).*\.(?:md|rst|txt)|metadata|pkg-info|.*(?:requirements|constraints|reqs).*\.(?:txt|in)"
    r"|.*\.(?:job|pbs|lsf)"
)


def kind_of(path: str) -> Kind:
    """Return the kind of the file at `path`; `other` for a name that says nothing."""
    if path.endswith(".py"):
        return "python"
    name = os.path.basename(path).lower()
    if name.startswith("makefile") or name == "gnumakefile":
        return "make"
    if name.startswith(("dockerfile", "containerfile")):
        return "docker"
    if name.endswith((".txt", ".in", ".pip")) and _REQUIREMENTS.match(name):
        return "requirements"
    if name in {"pipfile", "uv.lock", "poetry.lock", "pdm.lock"}:
        return "toml"
    if name == "pipfile.lock":
        return "json"
    return _BY_SUFFIX.get(os.path.splitext(name)[1], "other")


def tells_of_runs(path: str) -> bool:
    """Return whether a file of no other kind may tell which versions a program runs with, or how it is started."""
    directory, name = os.path.split(path)
    beside = directory.endswith(("requirements", "constraints")) and name.endswith((".txt", ".in"))
    return beside or _TELLING.fullmatch(name) is not None
