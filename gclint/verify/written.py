"""The files that a run wrote in its directory, each as a digest by which two runs can be compared."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

MOST, LARGEST = 200, 64 << 20


def written(directory: Path, since: float, but: Collection[str] = ()) -> dict[str, str]:
    """Return a digest of each file below `directory` that is not older than `since` (seconds since 1970), by its path.

    Left out: what is hidden or a cache, the files `but`, what is larger than 64 MiB, and all after the first 200.
    """
    found: dict[str, str] = {}
    for place, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        for name in sorted(names):
            path = Path(place, name)
            shown = path.relative_to(directory).as_posix()
            if name.startswith(".") or shown in but or len(found) >= MOST:
                continue
            with suppress(OSError):
                status = path.lstat()
                if path.is_symlink() or status.st_mtime < since or status.st_size > LARGEST:
                    continue
                found[shown] = hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
    return found
