"""Directories as one command sees them: each is listed once, however many parts of it ask what lies there."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listing = dict[str, "os.DirEntry[str]"]
MOST_BYTES = 1_000_000
PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "environment.yml")
SETS_UP = re.compile(rb"\b(?:setuptools|distutils|skbuild)\b")
_listed: ContextVar[dict[str, Listing] | None] = ContextVar("listed", default=None)


@contextmanager
def listed_once() -> Iterator[None]:
    """Meanwhile what was seen of a directory stays as it was seen first."""
    held = _listed.set({})
    try:
        yield
    finally:
        _listed.reset(held)


def entries(directory: str) -> Collection[os.DirEntry[str]]:
    """Return what lies in a directory; raises `OSError`."""
    listed = _listed.get()
    if listed is not None and directory in listed:
        return listed[directory].values()
    with os.scandir(directory) as listing:
        found = {entry.name: entry for entry in listing}
    if listed is not None:
        listed[directory] = found
    return found.values()


def names(directory: str) -> Collection[str]:
    """Return the names of what lies in a directory, none where it cannot be read."""
    try:
        return frozenset(entry.name for entry in entries(directory))
    except OSError:
        return frozenset()


def status(path: str) -> os.stat_result:
    """Return what the file system tells of a file; raises `OSError`."""
    seen = _seen(path)
    return seen.stat() if seen is not None else os.stat(path)


def is_link(path: str) -> bool:
    """Return whether a path is a symbolic link."""
    seen = _seen(path)
    return seen.is_symlink() if seen is not None else os.path.islink(path)


def leads_to_directory(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a directory, or a link to one; a link that goes round is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def holds_any(directory: str, wanted: Collection[str]) -> bool:
    """Return whether anything of these names lies in a directory."""
    listed = (_listed.get() or {}).get(directory)
    if listed is not None:
        return any(name in listed for name in wanted)
    return any(os.path.exists(os.path.join(directory, name)) for name in wanted)


def begins_project(directory: str, marks: Collection[str]) -> bool:
    """Return whether any of these marks of a project lies in a directory; a setup.py that sets nothing up is a module
    like any other.
    """
    if holds_any(directory, [mark for mark in marks if mark != "setup.py"]):
        return True
    return "setup.py" in marks and _sets_up(os.path.join(directory, "setup.py"))


def repository_of(root: str) -> str:
    """Return the directory (absolute) up to which files state releases for the project `root`: the repository that it
    is in, as a copy of another project is; where none is around, the one in which gclint was started, if it is above.
    """
    above = root
    while not os.path.exists(os.path.join(above, ".git")):
        if above == os.path.dirname(above):
            here = os.path.realpath(os.getcwd())
            return here if root.startswith(os.path.join(here, "")) else root
        above = os.path.dirname(above)
    return above


def lies_in_another(root: str) -> bool:
    """Return whether a project lies within another one, as a copy of somebody's package does."""
    here, last = root, repository_of(root)
    while here != last:
        here = os.path.dirname(here)
        if begins_project(here, PROJECT_MARKS):
            return True
    return False


def _sets_up(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as script:
            return SETS_UP.search(script.read(MOST_BYTES)) is not None
    except OSError:
        return False


def _seen(path: str) -> os.DirEntry[str] | None:
    listed = _listed.get()
    if not listed:
        return None
    directory, _, name = path.rpartition(os.sep)
    return listed[directory].get(name) if directory in listed else None
