"""`gclint check --watch`: the check again whenever a file comes, goes or changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from gclint.check.request import Request, find, project_root, settings_of
from gclint.cli import EXIT_ERROR, EXIT_INTERRUPTED, complain
from gclint.config import BadConfig
from gclint.integrations.nearby import state_of

INTERVAL = 0.5


def watch(request: Request, once: Callable[[], int], pause: Callable[[float], None] = time.sleep) -> int:
    """Run `once` now and after every change until interrupted; return the last exit status.

    Interrupted before the first check was done it is that of an interrupt.
    """
    seen: object = None
    status = EXIT_INTERRUPTED
    try:
        while True:
            now = _state(request)
            if now != seen:
                seen = now
                if sys.stdout.isatty():
                    sys.stdout.write("\x1b[2J\x1b[H")
                status = _checked(once)
                sys.stdout.flush()
                if sys.stdout.isatty():
                    print("\nWatching for changes; Ctrl-C ends it.", file=sys.stderr)
            pause(INTERVAL)
    except KeyboardInterrupt:
        return status


def _checked(once: Callable[[], int]) -> int:
    """Run `once`; a mistake in the configuration is said, and may be mended while watching goes on."""
    try:
        return once()
    except BadConfig as error:
        complain(str(error))
        return EXIT_ERROR


def _state(request: Request) -> object:
    """Return what changes when a file that is checked, or that the check reads, does."""
    try:
        files = _stamps(request)
        settings = [repr(settings_of(request, os.path.abspath(path))) for path in request.paths]
    except BadConfig as error:
        return str(error)
    roots = {project_root(os.path.abspath(path), request.paths) for path in request.paths}
    return files, settings, [state_of(root).digest for root in sorted(roots)]


def _stamps(request: Request) -> dict[str, tuple[int, int]]:
    state = {}
    for found in find(request).files:
        try:
            status = os.stat(found.absolute)
        except OSError:
            continue
        state[found.absolute] = (status.st_mtime_ns, status.st_size)
    return state
