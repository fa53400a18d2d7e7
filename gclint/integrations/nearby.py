"""The project around a file, for programs that bring one file at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gclint.config import FILES
from gclint.source.cache import digest
from gclint.source.folders import entries
from gclint.source.kinds import kind_of, tells_of_runs

MARKS = (*FILES, "setup.py", "setup.cfg", "requirements.txt", "environment.yml", ".git")
MOST_MODULES = 300
MOST_FILES = 20_000
SUFFIXES = (".py", ".ipynb")
_SKIPPED = frozenset({"venv", "node_modules", "site-packages", "__pycache__"})
_SMALL = 1_000_000


def root_of(path: str) -> str:
    """Return the nearest directory above the file `path` that looks like a project of its own.

    Without one it is the outermost package that holds the file, else the file's own directory.
    """
    start = here = os.path.dirname(os.path.abspath(path))
    while True:
        if is_marked(here):
            return here
        parent = os.path.dirname(here)
        if parent == here:
            return _outermost_package(start)
        here = parent


def is_marked(directory: str) -> bool:
    """Return whether something in a directory says that it is a project."""
    return any(os.path.exists(os.path.join(directory, mark)) for mark in MARKS)


def is_package(directory: str) -> bool:
    """Return whether a directory says that it is a package."""
    return os.path.exists(os.path.join(directory, "__init__.py"))


def _outermost_package(directory: str) -> str:
    while is_package(os.path.dirname(directory)):
        directory = os.path.dirname(directory)
    return directory


@dataclass(frozen=True)
class State:
    """What an analysis may read below a directory: a `digest` of it ("" where there are too many files to look at), how
    many `modules` there are, and by path the content of files so `fresh` that another change may leave their time.
    """

    digest: str
    modules: int
    fresh: Mapping[str, str] = field(default_factory=dict)


def state_of(root: str) -> State:
    """Return the state of everything below `root`.

    Modules are told by their content, up to `MOST_MODULES` of them; other files by size and time, those changed within
    the last two seconds by their content beside that: a later run finds them no more fresh, and as they were.
    """
    from time import time_ns

    recent = time_ns() - 2_000_000_000
    lines: list[str | bytes] = []
    modules: list[str] = []
    fresh: dict[str, str] = {}
    for entry in _files(root):
        if kind_of(entry.name) == "other" and "." in entry.name.lstrip(".") and not tells_of_runs(entry.path):
            continue
        if entry.name.endswith(SUFFIXES):
            modules.append(entry.path)
        status = entry.stat(follow_symlinks=False)
        by_content = entry.name.endswith(SUFFIXES) and len(modules) <= MOST_MODULES
        lines.append(entry.path if by_content else f"{entry.path}|{status.st_size}|{status.st_mtime_ns}")
        if by_content:
            lines.append(_content(entry.path))
        elif status.st_mtime_ns > recent and status.st_size < _SMALL:
            fresh[entry.path] = digest([_content(entry.path)])
        if len(lines) > 2 * MOST_FILES:
            return State("", MOST_FILES)
    return State(digest(lines), len(modules), fresh)


def as_they_were(fresh: Mapping[str, str]) -> bool:
    """Return whether files that were fresh have the content that they had."""
    return all(digest([_content(path)]) == told for path, told in fresh.items())


def has_more_modules(root: str, most: int) -> bool:
    """Return whether more than `most` modules lie below `root`, or too many other files to look at."""
    modules = 0
    for number, entry in enumerate(_files(root)):
        modules += entry.name.endswith(SUFFIXES)
        if modules > most or number > 2 * MOST_FILES:
            return True
    return False


def _files(root: str) -> Iterator[os.DirEntry[str]]:
    todo = [root]
    while todo:
        for entry in _entries(todo.pop()):
            if not entry.is_dir(follow_symlinks=False):
                yield entry
            elif entry.name not in _SKIPPED and (not entry.name.startswith(".") or entry.name == ".github"):
                todo.append(entry.path)


def _entries(directory: str) -> Iterable[os.DirEntry[str]]:
    try:
        return sorted(entries(directory), key=lambda entry: entry.name)
    except OSError:
        return ()


def _content(path: str) -> bytes:
    from gclint.source.source import content

    return content(path)
