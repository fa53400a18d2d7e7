"""How many optimizer steps a run takes: those asked for, or as many as fit into a little time."""

from __future__ import annotations

import json
import time
from pathlib import Path

LEAST, MOST, OBSERVED = 3, 24, 120
SECONDS, LOOKING = 4.0, 8.0
PATIENCE = 120.0


class Limit:
    """Says when a run has taken enough steps.

    With `exactly` it is that number. Else the first `LEAST` steps are timed, and as many follow as fit into `SECONDS`,
    `MOST` in all, or `LOOKING` and `OBSERVED` where the run is looked at; rank 0 decides, and the
    others read its decision in the file `shared`.
    """

    def __init__(self, exactly: int | None, shared: Path | None = None, rank: int = 0, observed: bool = False):
        self.wanted, self._shared, self._rank = exactly, shared, rank
        self._most, self._seconds = (OBSERVED, LOOKING) if observed else (MOST, SECONDS)
        self._least = LEAST + 3 * observed
        self._observed = observed
        self._began = 0.0

    def reached(self, steps: int) -> bool:
        """Whether these are enough; is asked after each step."""
        if self._shared is not None and self.wanted is None:
            if steps == 1:
                self._began = time.perf_counter()
            if steps == LEAST and (self._rank == 0 or not self._observed):
                self.wanted = self._decided() if self._rank == 0 else self._awaited()
            elif steps > LEAST and self._shared.exists():
                self.wanted = self._awaited()  # ranks that are looked at may have taken different numbers of steps
        return self.wanted is not None and steps >= self.wanted

    def _decided(self) -> int:
        each = max((time.perf_counter() - self._began) / (LEAST - 1), 1e-6)
        wanted = max(self._least, min(self._most, int(self._seconds / each)))
        assert self._shared is not None
        temporary = self._shared.with_suffix(".part")
        temporary.write_text(json.dumps(wanted), encoding="utf-8")
        temporary.replace(self._shared)
        return wanted

    def _awaited(self) -> int:
        assert self._shared is not None
        deadline = time.monotonic() + PATIENCE
        while not self._shared.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        return int(self._shared.read_text(encoding="utf-8")) if self._shared.exists() else LEAST
