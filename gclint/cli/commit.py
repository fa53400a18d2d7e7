"""A commit of git, and its files as they were, written elsewhere: the working tree and the index stay untouched."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from gclint.cli.parser import UsageError
from gclint.installed import BESIDE
from gclint.source.discover import LARGEST_CONFIGURATION
from gclint.source.kinds import kind_of
from gclint.source.source import SIZE_LIMIT

OPTION = "--baseline-commit"
# a hook of git sets them, and then git would not look where it is told to
_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
_LINK = "120000"


@dataclass(frozen=True)
class Commit:
    """A commit by the name it was given, and the root of the working tree of its repository."""

    top: str
    name: str
    hash: str


class _Entry(NamedTuple):
    path: str
    mode: str
    hash: str
    size: int


def commit_of(directory: str, name: str) -> Commit:
    """Return the commit `name` of the repository around a directory; raises `UsageError`."""
    found = _git(directory, "rev-parse", "--show-toplevel")
    if found.returncode:
        why = os.fsdecode(found.stderr).strip().split("\n")[0].removeprefix("fatal: ")
        raise UsageError(f"{OPTION}: git finds no working tree at {directory} ({why}); name a path of a repository")
    top = os.path.realpath(os.fsdecode(found.stdout).removesuffix("\n"))
    found = _git(top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found.returncode or name.startswith("-"):
        raise UsageError(f"{OPTION}: no commit `{name}` in {top}; name another one, or get it by `git fetch`")
    return Commit(top, name, os.fsdecode(found.stdout).strip())


def write(commit: Commit, directory: str) -> list[str]:
    """Write the files of a commit that a check may read below a directory, as git keeps them, and return their paths.

    Links lead to where they led within the tree; others are left out, as are submodules. The root is marked as the
    one of a repository, and an environment beside the code (`.venv`) is linked.
    """
    os.makedirs(os.path.join(directory, ".git"))
    read = [entry for entry in _entries(commit) if _is_read(entry)]
    links = {}
    for entry, data in _contents(commit, read):
        if entry.mode == _LINK:
            links[entry.path] = os.fsdecode(data)
            continue
        place = os.path.join(directory, entry.path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "xb") as file:
            file.write(data)
    for path, target in links.items():
        if _leads_inside(path, target):
            with suppress(OSError):
                os.makedirs(os.path.dirname(os.path.join(directory, path)), exist_ok=True)
                os.symlink(target, os.path.join(directory, path))
    _link_environments(commit.top, directory, read)
    return [entry.path for entry in read]


def _entries(commit: Commit) -> Iterator[_Entry]:
    listed = _git(commit.top, "ls-tree", "-r", "-z", "-l", "--full-tree", commit.hash)
    if listed.returncode:
        raise _incomplete(commit)
    for line in filter(None, listed.stdout.split(b"\0")):
        told, _, path = line.partition(b"\t")
        mode, kind, name, size = told.decode("ascii").split()
        if kind == "blob":
            if not size.isdigit():
                raise _incomplete(commit)
            yield _Entry(os.fsdecode(path), mode, name, int(size))


def _is_read(entry: _Entry) -> bool:
    """Whether a check may read a file: of those that are no code or settings small ones, such as .env."""
    if not {"", ".", "..", ".git"}.isdisjoint(entry.path.split("/")):
        return False
    return entry.size <= (LARGEST_CONFIGURATION if kind_of(entry.path) == "other" else SIZE_LIMIT)


def _contents(commit: Commit, entries: Iterable[_Entry]) -> Iterator[tuple[_Entry, bytes]]:
    """Each entry with the bytes that git keeps for it: no filter of the repository is run."""
    command = ["git", "-C", commit.top, "cat-file", "--batch"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment()
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for entry in entries:
            process.stdin.write(entry.hash.encode("ascii") + b"\n")
            process.stdin.flush()
            head = process.stdout.readline().split()
            if len(head) != 3 or head[1] != b"blob":
                raise _incomplete(commit)
            yield entry, process.stdout.read(int(head[2]) + 1)[:-1]


def _incomplete(commit: Commit) -> UsageError:
    return UsageError(f"{OPTION}: not all of commit `{commit.name}` is in {commit.top}; get it by `git fetch`")


def _leads_inside(path: str, target: str) -> bool:
    """Whether a link at a path of a tree leads to somewhere else in it."""
    place = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return not os.path.isabs(place) and place.split(os.sep)[0] != os.pardir


def _link_environments(top: str, directory: str, entries: Iterable[_Entry]) -> None:
    for below in {os.path.dirname(entry.path) for entry in entries} | {""}:
        for name in BESIDE:
            place = os.path.join(top, below, name)
            if os.path.isdir(place) and not os.path.lexists(os.path.join(directory, below, name)):
                with suppress(OSError):
                    os.symlink(place, os.path.join(directory, below, name), target_is_directory=True)


def _git(directory: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", directory, *words]
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=_environment(), check=False)
    except FileNotFoundError:
        raise UsageError(f"{OPTION} needs git, which is not installed or not on the path") from None


def _environment() -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}, "LC_ALL": "C"}
