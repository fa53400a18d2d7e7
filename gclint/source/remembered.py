"""Files whose bytes are read when somebody asks for them: of a large project few are looked into, and an earlier check
told of most what decides that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from gclint.source.cache import Cache, digest, stamp
from gclint.source.encoding import Encoding
from gclint.source.kinds import Kind
from gclint.source.source import MARKS, Source, Unreadable, read


class Remembered(Source):
    """A Python file of which the digest and the marks are told. Asked for its bytes it is what stands in the file
    then, nothing where that cannot be read any more.
    """

    def __init__(self, path: str, place: str, digest: str, marks: Iterable[str]):
        told = digest, frozenset(marks)
        self.__dict__.update(path=path, kind="python", notebook=None, where=place, _told=told)

    @cached_property
    def absolute(self) -> Path:
        """Where it lies."""
        return Path(self.where)

    @cached_property
    def _now(self) -> Source:
        return self._read()

    def _read(self) -> Source:
        try:
            return read(self.where, self.path, self.kind)
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

    def decoded(self) -> str:
        """Return the text without keeping it, unless it is another than was told."""
        if "_now" in self.__dict__:
            return self._now.decoded()
        source = self._read()
        if source.digest != self.digest:
            self.__dict__["_now"] = source
        return source.decoded()

    @property
    def digest(self) -> str:
        """What tells whether its content changed: of what was read, once it was."""
        return self._now.digest if "_now" in self.__dict__ else self.__dict__["_told"][0]

    @property
    def marks(self) -> frozenset[str]:
        """Which of `MARKS` stand in it."""
        return self._now.marks if "_now" in self.__dict__ else self.__dict__["_told"][1]


class Files:
    """The files of a check, those remembered in `directory` among them, none with ""; a file is known by its size, its
    times and its inode.
    """

    def __init__(self, directory: str = ""):
        self._directory = directory
        self._read: dict[str, list[Any]] = {}

    @cached_property
    def _cache(self) -> Cache:
        return Cache(self._directory, f"files-{digest(MARKS)}")

    def read(self, place: str, path: str, kind: Kind) -> Source:
        """Return the file at `place`, named `path` in reports; raises `Unreadable`."""
        if kind != "python":
            return read(place, path, kind)
        stamped = stamp(place) if self._directory else None
        told = self._cache.get(place) if stamped is not None else None
        if told is None or not _is_of(told, stamped):
            source = read(place, path, kind)
            told = [stamped, source.digest, sorted(source.marks)]
            if stamped is not None:
                self._read[place] = told
        return Remembered(path, place, told[1], told[2])

    def save(self) -> None:
        """Remember what was read; what is no longer there is forgotten."""
        if not self._read:
            return
        self._cache.keep_only(filter(os.path.exists, list(self._cache.names())))
        for place, told in self._read.items():
            self._cache.put(place, told)
        self._cache.save()


def _is_of(told: Any, stamped: list[int] | None) -> bool:
    if not (isinstance(told, list) and len(told) == 3 and told[0] == stamped and isinstance(told[1], str)):
        return False
    return isinstance(told[2], list) and all(mark in MARKS for mark in told[2])
