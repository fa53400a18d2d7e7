"""One process at a time: a lock that ends with the process that holds it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def one_at_a_time(path: str | os.PathLike[str]) -> Iterator[None]:
    """Wait until no other process holds the lock of this file, and hold it; go on without where there are no locks."""
    try:
        import fcntl

        handle = os.open(path, os.O_CREAT | os.O_RDWR)
    except (ImportError, OSError):
        yield
        return
    try:
        with contextlib.suppress(OSError):  # not every file system can
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
