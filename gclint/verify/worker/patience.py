"""Ends a program that has taken no optimizer step after some seconds."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from gclint.verify.worker.refusal import SLOW, NotRun

AGAIN = 3.0


class _TooSlow(BaseException):
    """Raised in the program; no handler of its own catches it."""


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise NotRun when the program inside has taken no step after `seconds`, imports apart; 0 waits for ever."""
    if not seconds or "torch" not in sys.modules:
        yield
        return
    from torch.optim.optimizer import register_optimizer_step_post_hook

    def stepped(*ignored: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def ring(number: int, frame: FrameType | None) -> None:
        if _imports(frame):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        else:
            raise _TooSlow

    hook = register_optimizer_step_post_hook(stepped)
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TooSlow:
        raise NotRun(f"{SLOW} {seconds:.0f} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        hook.remove()


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
