"""Files that are as an earlier check read them, read again only when somebody asks for their text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from gclint.files.cache import Cache, digest, stamp
from gclint.files.encoding import Encoding
from gclint.files.kinds import Kind
from gclint.files.source import MARKS, Source, Unreadable, read


class Remembered(Source):
    """A Python file of which an earlier check told the digest and the marks. Asked for its bytes it is what stands in
    the file then, nothing where that cannot be read any more.
    """

    def __init__(self, path: str, place: str, digest: str, marks: Sequence[str]):
        told = digest, frozenset(marks)
        self.__dict__.update(path=path, kind="python", notebook=None, where=place, _told=told)

    @cached_property
    def absolute(self) -> Path:
        """Where it lies."""
        return Path(self.where)

    @cached_property
    def _now(self) -> Source:
        try:
            return read(self.absolute, self.path, self.kind)
        except Unreadable:
            return Source(self.path, self.absolute, b"", Encoding(), self.kind)

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return self._now.data

    @property
    def encoding(self) -> Encoding:
        """How its text is written."""
        return self._now.encoding

    @property
    def digest(self) -> str:
        """What tells whether its content changed: of what was read, once it was."""
        return self._now.digest if "_now" in self.__dict__ else self.__dict__["_told"][0]

    @property
    def marks(self) -> frozenset[str]:
        """Which of `MARKS` stand in it."""
        return self._now.marks if "_now" in self.__dict__ else self.__dict__["_told"][1]


class Files:
    """The files of a check, those remembered in `directory` among them; a file is known by its size, its times and
    its inode.
    """

    def __init__(self, directory: str):
        self._directory = directory
        self._read: list[tuple[list[int], Source]] = []

    @cached_property
    def _cache(self) -> Cache:
        return Cache(self._directory, f"files-{digest(MARKS)}")

    def read(self, place: str, path: str, kind: Kind) -> Source:
        """Return the file at `place`, named `path` in reports; raises `Unreadable`."""
        if kind != "python":
            return read(place, path, kind)
        stamped = stamp(place)
        told = self._cache.get(place)
        if stamped is not None and _is_of(told, stamped):
            return Remembered(path, place, told[1], told[2])
        source = read(place, path, kind)
        if stamped is not None:
            self._read.append((stamped, source))
        return source

    def save(self) -> None:
        """Remember what was read; what is no longer there is forgotten."""
        if not self._read:
            return
        self._cache.keep_only(filter(os.path.exists, list(self._cache.names())))
        for stamped, source in self._read:
            self._cache.put(source.where, [stamped, source.digest, sorted(source.marks)])
        self._cache.save()


def _is_of(told: Any, stamped: list[int]) -> bool:
    if not (isinstance(told, list) and len(told) == 3 and told[0] == stamped and isinstance(told[1], str)):
        return False
    return isinstance(told[2], list) and all(mark in MARKS for mark in told[2])
