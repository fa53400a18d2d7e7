"""How long workers may take to start: what they work does not count, and a long start is told."""

from __future__ import annotations

import time
from collections.abc import Callable

from gclint.verify.worker.supervise import descendants

LONGEST = 10
TOLD = 15.0


class Patience:
    """Measures the start of the workers below a process from now on.

    `seconds` is how long they may be idle; they may take `LONGEST` times that in all.
    """

    def __init__(self, process: int | None, seconds: float, tell: Callable[[str], None] | None):
        self._process, self._seconds, self._tell = process, seconds, tell
        self._began = time.monotonic()
        self._idle_since = self._looked = self._told = self._used = 0.0

    @property
    def passed(self) -> float:
        """How many seconds the start has taken."""
        return time.monotonic() - self._began

    def is_over(self) -> bool:
        """Whether the workers have been idle for too long; also tells of a start that goes on."""
        passed = self.passed
        if passed - self._looked >= 1 and self._process is not None:
            used = sum(descendants(self._process).values())
            if used > self._used + 0.05:
                self._idle_since, self._used = passed, used
            self._looked = passed
        if passed - self._told >= TOLD and self._tell is not None:
            self._tell(f"the workers import their libraries, {passed:.0f} s so far")
            self._told = passed
        return passed - self._idle_since > self._seconds or passed > LONGEST * self._seconds
