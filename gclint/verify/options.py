"""How verification runs: limits, device, interpreter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DeviceName = Literal["auto", "cpu", "cuda", "rocm", "xpu", "mps"]


@dataclass(frozen=True)
class Options:
    """Limits and choices of one verification.

    `timeout` is in seconds per run; a worker has that or `start_timeout`, whichever is longer, to import its libraries,
    in which time that it is busy does not count (ten times as long at most). `memory_limit` is in
    bytes per rank above what the worker holds before the run, `python` the interpreter of the workers (None:
    this one), `launcher` the command under which distributed recipes run ("torchrun --nnodes 2 ...", "srun ...";
    None: torchrun on this machine), which decides how many processes there are; without it `processes` overrides
    the world size of distributed recipes. `threads` is per rank.
    `saved_bytes` measures what forward keeps for backward, on the last step of a recipe.
    """

    device: DeviceName = "auto"
    timeout: float = 60.0
    start_timeout: float = 120.0
    memory_limit: int = 8 * 2**30
    python: str | None = None
    launcher: str | None = None
    processes: int | None = None
    threads: int = 1
    saved_bytes: bool = True

    @property
    def patience(self) -> float:
        """How many seconds workers that start may do nothing."""
        return max(self.timeout, self.start_timeout)
