"""Where a run's time goes, by stage; measured always, since it costs a microsecond, and told by
`--timing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

_seconds: dict[str, float] = {}


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Count the time spent inside, in seconds of wall clock, under `name`."""
    began = perf_counter()
    try:
        yield
    finally:
        _seconds[name] = _seconds.get(name, 0.0) + perf_counter() - began


def spent() -> dict[str, float]:
    """Return the seconds by stage so far, in the order the stages first ended."""
    return dict(_seconds)


def table() -> str:
    """Return the stages as lines of `name  milliseconds`."""
    return "".join(f"{name:<24}{seconds * 1000:>10.1f} ms\n" for name, seconds in _seconds.items())
