"""Files written whole or not at all, and only when they still are what was read."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

from gclint.source.source import Source

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX, SUFFIX = ".{}.", ".gclint"


class NotWritten(Exception):
    """A file that could not be written, or must not be: the message names it, says why, and what to do."""


def write_all(changes: Iterable[tuple[Source, bytes]]) -> list[Path]:
    """Give every file its new bytes and return the files written.

    Each pair is the file as it was read and the bytes to give it. All new files are prepared first, so a
    full disk or a refused file leaves every old file whole. Raises `NotWritten`.
    """
    prepared: list[tuple[Source, Path, str]] = []
    with ExitStack() as locks:
        _write(changes, prepared, locks)
    for directory in {target.parent for _, target, _ in prepared}:
        _sync_directory(directory)
    return [target for _, target, _ in prepared]


def remove_leftovers(sources: Iterable[Source]) -> list[Path]:
    """Remove what a `fix` that was killed has left beside these files, and return it.

    That is a hidden file named after one of them, the user's own, which no living process holds as it does while it
    writes; where files cannot be locked nothing is removed.
    """
    if fcntl is None:
        return []
    names: dict[Path, set[str]] = {}
    for source in sources:
        target = Path(os.path.realpath(source.absolute))
        names.setdefault(target.parent, set()).add(_prefix(target))
    return [path for directory, prefixes in names.items() for path in _leftovers(directory, prefixes) if _removed(path)]


def _leftovers(directory: Path, prefixes: set[str]) -> list[Path]:
    named = re.compile(rf"(\..*\.)[a-z0-9_]{{8}}{re.escape(SUFFIX)}", re.DOTALL)
    with suppress(OSError):
        found = ((named.fullmatch(name), name) for name in os.listdir(directory))
        return [directory / name for match, name in found if match is not None and match[1] in prefixes]
    return []


def _removed(path: Path) -> bool:
    """Remove a file of ours that nobody holds; return whether it was one."""
    with suppress(OSError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid == os.getuid():
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            return True
    return False


def _prefix(target: Path) -> str:
    return PREFIX.format(target.name[:40])


def _write(changes: Iterable[tuple[Source, bytes]], prepared: list[tuple[Source, Path, str]], locks: ExitStack) -> None:
    try:
        for source, data in changes:
            target = Path(os.path.realpath(source.absolute))
            _check_unchanged(source, target)
            prepared.append((source, target, _prepare(source, target, data, locks)))
        for source, target, _ in prepared:
            _check_unchanged(source, target)
        for source, target, temporary in prepared:
            _replace(source, temporary, target)
    finally:
        for _, _, temporary in prepared:
            if os.path.exists(temporary):
                os.unlink(temporary)


def _check_unchanged(source: Source, target: Path) -> None:
    try:
        status = target.stat()
        now = target.read_bytes()
    except FileNotFoundError:
        raise NotWritten(f"{source.path}: it is gone since it was read; run gclint again") from None
    except OSError as error:
        raise NotWritten(f"{source.path}: cannot be read again ({error.strerror}); check its permissions") from None
    if now != source.data:
        raise NotWritten(f"{source.path}: it was changed since it was read; run gclint again")
    if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise NotWritten(f"{source.path}: it is read-only; make it writable (chmod u+w) and run gclint again")


def _prepare(source: Source, target: Path, data: bytes, locks: ExitStack) -> str:
    """Write `data` beside `target` with the mode and owner of `target`; return the temporary path.

    The file is locked as long as `locks` are: it is seen by that that it is not a killed process's.
    """
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=_prefix(target), suffix=SUFFIX)
        with os.fdopen(handle, "wb") as file:
            _lock(file.fileno(), locks)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _copy_mode(target, temporary)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        reason = error.strerror or str(error)
        raise NotWritten(f"{source.path}: cannot be written ({reason}); the file is as it was") from None
    return temporary


def _lock(handle: int, locks: ExitStack) -> None:
    if fcntl is not None:
        held = os.dup(handle)
        locks.callback(os.close, held)
        with suppress(OSError):  # not every file system can
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _copy_mode(target: Path, temporary: str) -> None:
    status = target.stat()
    os.chmod(temporary, stat.S_IMODE(status.st_mode))
    if hasattr(os, "chown"):
        try:
            os.chown(temporary, status.st_uid, status.st_gid)
        except PermissionError:
            return


def _replace(source: Source, temporary: str, target: Path) -> None:
    try:
        os.replace(temporary, target)
    except OSError as error:
        raise NotWritten(f"{source.path}: cannot be replaced ({error.strerror}); the file is as it was") from None


def _sync_directory(directory: Path) -> None:
    """Make the renames in `directory` last; not every file system can."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)
