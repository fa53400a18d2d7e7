"""What earlier runs found out, kept by content: read as data, written whole, ignored when damaged.

Nothing here is trusted further than its shape: entries are JSON, never code, and a cache that cannot be
read or written costs time and changes no finding.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from gclint.source.folders import status

DIRECTORY = ".gclint_cache"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This file marks a cache made by gclint.\n"
_FILES = {"CACHEDIR.TAG": _TAG, ".gitignore": "# Made by gclint.\n*\n"}
_RACY = 2_000_000_000
_ENTRIES = re.compile(r"(?:[a-z0-9]+-)?[0-9a-f]{40}\.(?:json|lines)")
_HELD = re.compile(rf"{_ENTRIES.pattern}|tmp\w+\.tmp|lock|CACHEDIR\.TAG|\.gitignore")
_DAY = 24 * 3600
_KEPT = 30 * _DAY
Entry = dict[str, Any]


def digest(parts: Iterable[bytes | str]) -> str:
    """Return a hexadecimal key of `parts`, none of which can run into the next."""
    from hashlib import sha1

    made = sha1(usedforsecurity=False)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        made.update(b"%d:" % len(data))
        made.update(data)
    return made.hexdigest()


def stamp(path: str) -> list[int] | None:
    """Return size, times (ns) of content and of state, and inode of a file; None where it cannot be told or too fresh.

    A file changed within the last two seconds could change again without showing in its times.
    """
    from time import time_ns

    try:
        found = status(path)
    except OSError:
        return None
    if time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < _RACY:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


class Cache:
    """The entries under one `key` (version, configuration, targets, rules) in `directory`."""

    def __init__(self, directory: str, key: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, f"{key}.json")
        self._entries: Entry = _load(self._path)
        self._changed = False

    def get(self, name: str) -> Any:
        """Return the entry called `name`, None where there is none."""
        return self._entries.get(name)

    def put(self, name: str, value: Any) -> None:
        """Keep `value` (what JSON can hold) under `name` for the next run."""
        if self._entries.get(name) != value:
            self._entries[name] = value
            self._changed = True

    def names(self) -> Iterable[str]:
        """Return the names of all entries."""
        return self._entries.keys()

    def keep_only(self, names: Iterable[str]) -> None:
        """Forget the entries that are not in `names`."""
        wanted = set(names)
        if any(name not in wanted for name in self._entries):
            self._entries = {name: value for name, value in self._entries.items() if name in wanted}
            self._changed = True

    def save(self) -> None:
        """Write what changed, whole or not at all; an error is no one's concern."""
        if not self._changed:
            return
        try:
            prepare(self._directory)
            if not os.path.exists(self._path):
                _forget_old(self._directory)
            write_whole(self._path, json.dumps(self._entries, separators=(",", ":")))
        except (OSError, ValueError, TypeError):
            return
        self._changed = False


class Passing(Cache):
    """Entries that pass from one analysis to the next in this process, and are written nowhere: in `texts`, by key."""

    def __init__(self, texts: dict[str, str], key: str) -> None:
        self._texts, self._key = texts, key
        self._entries = json.loads(texts.get(key, "{}"))
        self._changed = False

    def save(self) -> None:
        """Keep what changed."""
        if self._changed:
            self._texts[self._key] = json.dumps(self._entries)
            self._changed = False


def remove(directory: str) -> bool:
    """Delete the cache in `directory`; return whether there was one. A directory that is not one is kept, and so is
    whatever is in it that no cache holds.
    """
    if not is_cache(directory):
        return False
    for name in os.listdir(directory):
        if _HELD.fullmatch(name):
            with suppress(OSError):
                os.unlink(os.path.join(directory, name))
    with suppress(OSError):
        os.rmdir(directory)
    return True


def is_cache(directory: str) -> bool:
    """Return whether gclint made the cache in `directory`; a directory that cannot be read is none."""
    try:
        with open(os.path.join(directory, "CACHEDIR.TAG"), encoding="utf-8") as file:
            return file.read() == _TAG
    except (OSError, ValueError):
        return False


def _load(path: str) -> Entry:
    try:
        with open(path, "rb") as file:
            loaded = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def prepare(directory: str) -> None:
    """Make the cache directory, marked as one; raises `OSError`, also where there is a directory of something else."""
    if os.path.islink(directory):
        raise OSError("the cache directory is a link")
    os.makedirs(directory, exist_ok=True)
    if not is_cache(directory) and any(name not in _FILES for name in os.listdir(directory)):
        raise OSError("the directory holds something else")
    for name, text in _FILES.items():
        path = os.path.join(directory, name)
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


def _forget_old(directory: str) -> None:
    """Delete the entries that nothing has written for `_KEPT` seconds: of each other command line, and of each project
    that was checked from here, there is a file. They are looked through once a day, which the mark's time tells.
    """
    from time import time

    oldest, mark = time() - _KEPT, os.path.join(directory, "CACHEDIR.TAG")
    try:
        if time() - os.stat(mark).st_mtime < _DAY:
            return
        os.utime(mark)
    except OSError:
        return
    for name in filter(_ENTRIES.fullmatch, os.listdir(directory)):
        path = os.path.join(directory, name)
        with suppress(OSError):  # another process may delete it too
            if os.stat(path).st_mtime < oldest:
                os.unlink(path)


def write_whole(path: str, text: str) -> None:
    """Write a file whole or not at all; raises `OSError`."""
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
