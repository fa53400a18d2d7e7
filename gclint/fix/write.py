"""Files written whole or not at all, and only when they still are what was read."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from gclint.files.source import Source


class NotWritten(Exception):
    """A file that could not be written, or must not be: the message names it, says why, and what to do."""


def write_all(changes: Iterable[tuple[Source, bytes]]) -> list[Path]:
    """Give every file its new bytes and return the files written.

    Each pair is the file as it was read and the bytes to give it. All new files are prepared first, so a
    full disk or a refused file leaves every old file whole. Raises `NotWritten`.
    """
    prepared: list[tuple[Source, Path, str]] = []
    try:
        for source, data in changes:
            target = Path(os.path.realpath(source.absolute))
            _check_unchanged(source, target)
            prepared.append((source, target, _prepare(source, target, data)))
        for source, target, _ in prepared:
            _check_unchanged(source, target)
        for source, target, temporary in prepared:
            _replace(source, temporary, target)
    finally:
        for _, _, temporary in prepared:
            if os.path.exists(temporary):
                os.unlink(temporary)
    for directory in {target.parent for _, target, _ in prepared}:
        _sync_directory(directory)
    return [target for _, target, _ in prepared]


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


def _prepare(source: Source, target: Path, data: bytes) -> str:
    """Write `data` beside `target` with the mode and owner of `target`; return the temporary path."""
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".gclint")
        with os.fdopen(handle, "wb") as file:
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
