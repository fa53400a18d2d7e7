"""Whether anything changed that a check could depend on, told from the file system without reading files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from time import time_ns

from gclint.config import FILES
from gclint.installed import environment_of
from gclint.source.cache import digest
from gclint.source.folders import entries, names, repository_of
from gclint.source.kinds import SIDE_DIRECTORIES, kind_of, tells_of_runs
from gclint.source.source import content

MOST_FILES = 50_000
_RACY = 2_000_000_000
_SKIPPED = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "site-packages", "__pycache__", ".gclint_cache"}
)


def project_stamps(root: str) -> list[str] | None:
    """Return a line for each file below `root` that an analysis may read: path, size, time, inode.

    None where there are more than `MOST_FILES`, or where a file changed within the last two seconds and could
    change again without showing in its time.
    """
    found: list[str] = []
    youngest = 0
    try:
        for entry in read_by_analyses(root):
            status = entry.stat()
            youngest = max(youngest, status.st_mtime_ns)
            found.append(f"{entry.path}|{status.st_size}|{status.st_mtime_ns}|{status.st_ino}")
            if len(found) > MOST_FILES:
                return None
    except OSError:
        return None
    return None if time_ns() - youngest < _RACY else sorted(found)


def layout(root: str) -> list[str] | None:
    """Return a line for each file below `root` that an analysis may read: a module's path, and of any other file also
    what tells whether its content changed.

    None where there are more than `MOST_FILES`.
    """
    found: list[str] = []
    try:
        for entry in read_by_analyses(root):
            told = "" if kind_of(entry.name) in ("python", "notebook") else _content_stamp(entry)
            found.append(f"{entry.path}|{told}")
            if len(found) > MOST_FILES:
                return None
    except OSError:
        return None
    return sorted(found)


def _content_stamp(entry: os.DirEntry[str]) -> str:
    """Size, time and inode; of a file changed within the last two seconds, which could change again without showing
    in its time, its content. A link is not followed: what it leads to within the project has a line of its own.
    """
    status = entry.stat(follow_symlinks=False)
    told = f"{status.st_size}|{status.st_mtime_ns}|{status.st_ino}"
    old = time_ns() - status.st_mtime_ns > _RACY
    return told if old or entry.is_symlink() else f"{told}|{digest([content(entry.path)])}"


def read_by_analyses(root: str) -> Iterator[os.DirEntry[str]]:
    """Yield what an analysis may read of the files below `root`; raises `OSError`."""
    todo = [root]
    while todo:
        for entry in entries(todo.pop()):
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED:
                    todo.append(entry.path)
            elif kind_of(entry.name) != "other" or entry.name == ".gitignore" or tells_of_runs(entry.path):
                yield entry


def surroundings(root: str) -> list[str]:
    """Return stamps of what lies outside a project and still matters.

    They are gclint's own modules, the directories on `sys.path` and those of the project's environment (whose time
    changes when a package or a rule pack is installed) but the one that gclint is started in, and above `root` the
    configuration files, and within its repository those that state releases.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = [path for path in sys.path if os.path.abspath(path) != os.getcwd()]
    found = [sys.version, *_own_times(package), *_times([*installed, *environment_of(root).places])]
    here = os.path.dirname(root)
    while here != os.path.dirname(here):
        found += _times(os.path.join(here, name) for name in FILES)
        here = os.path.dirname(here)
    return [*found, *_stated_above(root)]


def _stated_above(root: str) -> list[str]:
    """The stamps of the files that may state releases for a project within a repository."""
    here, last, places = root, repository_of(root), list[str]()
    while here != last:
        here = os.path.dirname(here)
        places += [here, *(os.path.join(here, name) for name in SIDE_DIRECTORIES)]
    paths = (os.path.join(place, name) for place in places for name in sorted(names(place)))
    return _times(path for path in paths if kind_of(path) != "other" or tells_of_runs(path))


@lru_cache(maxsize=1)
def _own_times(package: str) -> list[str]:
    """The stamps of gclint's own modules, which a process has loaded as they were when it began."""
    return _times(_modules(package))


def _modules(package: str) -> list[str]:
    found = []
    for base in (package, os.path.join(os.path.dirname(package), "rules")):
        for directory, _, files in os.walk(base):
            found += [os.path.join(directory, name) for name in sorted(files) if name.endswith(".py")]
    return sorted(found)


def _times(paths: Iterable[str]) -> list[str]:
    found = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        found.append(f"{path}|{status.st_size}|{status.st_mtime_ns}")
    return found
