"""`gclint check --watch`: the check again whenever a file comes, goes or changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from gclint.gather import Request, find

INTERVAL = 0.5


def watch(request: Request, once: Callable[[], int], pause: Callable[[float], None] = time.sleep) -> int:
    """Run `once` now and after every change until interrupted; return the last exit status."""
    seen: object = None
    status = 0
    try:
        while True:
            now = _state(request)
            if now != seen:
                seen = now
                if sys.stdout.isatty():
                    sys.stdout.write("\x1b[2J\x1b[H")
                status = once()
                sys.stdout.flush()
            pause(INTERVAL)
    except KeyboardInterrupt:
        return status


def _state(request: Request) -> dict[str, tuple[int, int]]:
    state = {}
    for found in find(request).files:
        try:
            status = os.stat(found.absolute)
        except OSError:
            continue
        state[found.absolute] = (status.st_mtime_ns, status.st_size)
    return state
