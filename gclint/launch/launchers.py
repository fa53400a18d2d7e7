"""Which files may start programs, by their names."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gclint.source.source import NOTEBOOK_LIMIT, content

MAX_BYTES = 256_000
SHELL = re.compile(r".*\.(?:sh|bash|zsh|ksh|sbatch|slurm|job|pbs|lsf)(?:\.template)?")
MAKEFILE = re.compile(r"(?:GNU)?[Mm]akefile|.*\.mk")
DOCKERFILE = re.compile(r"(?:.*\.)?(?:Dockerfile|Containerfile)(?:\..*)?|.*\.dockerfile")
YAML = re.compile(r".*\.ya?ml")
NOTEBOOK = re.compile(r".*\.ipynb")
README = re.compile(r"(?i)(?:readme|getting.?started|install|train|quick.?start|usage)[^/]*\.(?:md|rst|txt)|readme")


def may_start(directory: str, name: str) -> bool:
    """Return whether a file of a directory may start a program, by its name or its first line."""
    if name.endswith(".py"):
        return False
    if name == "launch.json":
        return os.path.basename(directory) == ".vscode"
    patterns = (SHELL, MAKEFILE, DOCKERFILE, YAML, NOTEBOOK, README)
    if any(pattern.fullmatch(name) for pattern in patterns):
        return True
    return "." not in name and _has_shell_head(os.path.join(directory, name))


def _has_shell_head(path: str) -> bool:
    head = content(path, 64).split(b"\n", 1)[0]
    return head.startswith(b"#!") and re.search(rb"(?:ba|z|k|da)?sh\b", head) is not None


def is_readme(path: Path) -> bool:
    """Return whether a file is read for the commands that it shows: one of many ways to start a program."""
    return README.fullmatch(path.name) is not None


def text_of(path: Path) -> str:
    """The text of a launcher, as far as it is read."""
    raw = content(path, (NOTEBOOK_LIMIT if path.suffix == ".ipynb" else MAX_BYTES) + 1)
    return raw.decode("utf-8-sig", errors="replace")
