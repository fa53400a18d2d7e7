"""One file: its bytes, its text, and the way back from an edited text to bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from gclint.source.cache import digest
from gclint.source.encoding import Encoding, Undecodable, plain_encoding, python_encoding
from gclint.source.folders import is_link
from gclint.source.kinds import Kind, kind_of
from gclint.source.lines import newline_of, split_lines
from gclint.source.notebook import BadNotebook, Notebook, read_notebook

SIZE_LIMIT = 10_000_000
NOTEBOOK_LIMIT = 100_000_000


# without one of these nobody looks into a file for what it is about: starting it, sys.path, its own dependencies (PEP
# 723), suppressing a rule
MARKS = ("__main__", "sys.path", "# /// script", "GCL")


class Unreadable(Exception):
    """A file that cannot be read, with its place (`path`, `line` from 1), what is wrong and what to do."""

    def __init__(self, path: str, what: str, remedy: str, line: int = 1) -> None:
        super().__init__(f"{path}: {what}: {remedy}")
        self.path, self.what, self.remedy, self.line = path, what, remedy, line


class Unwritable(Exception):
    """An edited text that cannot be written as this file; the message says why."""


@dataclass(frozen=True)
class Source:
    """A file as read: `path` as shown, `absolute`, and its bytes, which are text in `encoding`."""

    path: str
    absolute: Path
    data: bytes = field(repr=False)
    encoding: Encoding
    kind: Kind
    notebook: Notebook | None = field(default=None, repr=False)

    @cached_property
    def text(self) -> str:
        """Its text, with the newlines it has on disk; of a notebook the one Python module made of its code cells."""
        return self.decoded()

    def decoded(self) -> str:
        """Return the text without keeping it: of thousands of files most are looked at once."""
        return self.encoding.decode(self.data) if self.notebook is None else self.notebook.text

    @cached_property
    def where(self) -> str:
        """Where it lies, as text."""
        return os.fspath(self.absolute)

    @cached_property
    def digest(self) -> str:
        """What tells whether its content changed."""
        return digest([self.data])

    @cached_property
    def marks(self) -> frozenset[str]:
        """Which of `MARKS` stand in it."""
        return frozenset(mark for mark in MARKS if mark.encode() in self.data)

    @cached_property
    def newline(self) -> str:
        """The newline most lines end with."""
        return newline_of(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text with their endings."""
        return split_lines(self.text)

    def place(self, line: int) -> tuple[int | None, int]:
        """Return the cell (from 1; None outside notebooks) and the line in it for a line of the text."""
        return (None, line) if self.notebook is None else self.notebook.place(line)

    def encode(self, new_text: str) -> bytes:
        """Return the bytes of this file with `new_text` as its text; bytes outside the change are kept.

        Raises `Unwritable` for a character that the encoding lacks, for an encoding whose bytes do not come
        back as they were, and for an edit that crosses cells of a notebook.
        """
        if new_text == self.text:
            return self.data
        try:
            written = self.notebook.write(new_text) if self.notebook else new_text
            if not self.notebook and self.encoding.encode(self.text) != self.data:
                raise Unwritable(f"{self.path}: its {self.encoding.name} bytes would not come back as they were")
            return self.encoding.encode(written)
        except UnicodeEncodeError as error:
            bad = error.object[error.start]
            raise Unwritable(f"{self.path}: {self.encoding.name} has no character {bad!r}") from None
        except BadNotebook as error:
            raise Unwritable(f"{self.path}: {error}") from None

    def with_text(self, new_text: str) -> Source:
        """Return the file as it would be read back after `new_text` was written; raises `Unwritable`."""
        return self if new_text == self.text else parse(self.path, self.absolute, self.encode(new_text), self.kind)


def read(path: str | os.PathLike[str], shown: str | None = None, kind: Kind | None = None) -> Source:
    """Return the file at `path`, named `shown` in reports, read as `kind` (else as its name says).

    Raises `Unreadable` for a file that is missing, not permitted, not a file, larger than `SIZE_LIMIT`
    bytes (`NOTEBOOK_LIMIT` for a notebook), binary, or not text in its encoding.
    """
    name = shown if shown is not None else os.fspath(path)
    return parse(name, Path(os.path.abspath(path)), read_bytes(path, name), kind)


def read_bytes(path: str | os.PathLike[str], shown: str) -> bytes:
    """Return the bytes at `path`; raises `Unreadable` (see `read`)."""
    if (held := given(path)) is not None:
        return held
    limit = NOTEBOOK_LIMIT if os.fspath(path).endswith(".ipynb") else SIZE_LIMIT
    try:
        if not stat.S_ISREG((status := os.stat(path)).st_mode) and not stat.S_ISDIR(status.st_mode):
            raise Unreadable(shown, "not a regular file", "name a file")
        if status.st_size > limit:
            remedy = "exclude it (`exclude` in the configuration)"
            raise Unreadable(shown, f"larger than {limit // 1_000_000} MB", remedy)
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError as error:
        raise unreadable_from(shown, error) from None


_in_place: ContextVar[Mapping[str, bytes]] = ContextVar("in_place", default=MappingProxyType({}))


@contextmanager
def in_place(files: Iterable[Source]) -> Iterator[None]:
    """Read these files as they are here, whatever is on disk: all that is read by `read` and by `content`."""
    held = _in_place.set({os.path.realpath(source.absolute): source.data for source in files})
    try:
        yield
    finally:
        _in_place.reset(held)


def given(path: str | os.PathLike[str]) -> bytes | None:
    """Return what is read in place of the file at `path`, None where that is what is on disk."""
    held = _in_place.get()
    return held.get(os.path.realpath(path)) if held else None


def content(path: str | os.PathLike[str], most: int = SIZE_LIMIT) -> bytes:
    """Return the first `most` bytes of a regular file; none where it cannot be read or is another thing, as a pipe."""
    if (held := given(path)) is not None:
        return held[:most]
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        with open(path, "rb") as file:
            return file.read(most)
    except (OSError, ValueError):
        return b""


def inside(path: str | os.PathLike[str], root: str | os.PathLike[str]) -> bool:
    """Whether a path, its links followed, is `root` or lies below it."""
    top, place = os.path.realpath(root), os.path.realpath(path)
    return place == top or place.startswith(top.rstrip(os.sep) + os.sep)


def real_paths(paths: Iterable[str]) -> Iterator[str]:
    """Each path with its links followed, as `os.path.realpath` gives it, directories looked up once."""
    directories: dict[str, str] = {}
    for path in paths:
        directory, _, name = path.rpartition(os.sep)
        if not directory or is_link(path):
            yield os.path.realpath(path)
            continue
        if directory not in directories:
            directories[directory] = os.path.realpath(directory)
        real = directories[directory]
        yield path if real == directory else os.path.join(real, name)


def parse(path: str, absolute: Path, data: bytes, kind: Kind | None = None) -> Source:
    """Return the file with these bytes; raises `Unreadable` for bytes that are no text of its kind."""
    kind = kind or kind_of(path)
    if b"\0" in data:
        raise Unreadable(path, "binary (it holds a NUL byte)", "exclude it (`exclude` in the configuration)")
    try:
        encoding = python_encoding(data) if kind == "python" else plain_encoding(data)
        text = encoding.decode(data)
    except Undecodable as error:
        raise Unreadable(path, error.what, error.remedy, error.line) from None
    except (ValueError, LookupError, OverflowError) as error:
        raise Unreadable(path, f"cannot be decoded: {error}", "convert the file to UTF-8") from None
    if kind != "notebook":
        return Source(path, absolute, data, encoding, kind)
    try:
        notebook = read_notebook(text)
    except BadNotebook as error:
        raise Unreadable(path, str(error), error.remedy, error.line) from None
    return Source(path, absolute, data, encoding, kind, notebook)


def unreadable_from(path: str, error: OSError) -> Unreadable:
    """Return what `error` means for the reader of `path`, and what to do about it."""
    if isinstance(error, FileNotFoundError):
        return Unreadable(path, "no such file or directory", "check the path")
    if isinstance(error, PermissionError):
        return Unreadable(path, "permission denied", "make it readable, or exclude it")
    if isinstance(error, IsADirectoryError):
        return Unreadable(path, "a directory, not a file", "name the file")
    return Unreadable(path, f"cannot be read ({error.strerror or error})", "check the path")


def shown(path: str) -> str:
    """A file as reports name it: relative to the working directory where it lies below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
