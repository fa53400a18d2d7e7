"""SIGTERM and SIGHUP, where something has to be put away before the process ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def put_away_first() -> Iterator[None]:
    """Meanwhile these signals unwind like Ctrl-C, and after that end the process as they would have at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    own = [each for each in _ENDING if signal.getsignal(each) is signal.SIG_DFL]
    came: list[int] = []

    def unwind(number: int, frame: FrameType | None) -> None:
        came.append(number)
        for each in own:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in own:
        signal.signal(each, unwind)
    try:
        yield
    finally:
        for each in own:
            signal.signal(each, signal.SIG_DFL)
        if came:
            os.kill(os.getpid(), came[0])
