"""Paths that are the same in all processes of a run."""

from __future__ import annotations

from gclint.run.ranks import numbers
from gclint.run.run import Run
from gclint.run.values import Object, Value, sources

OF_EACH = (
    *("time.", "datetime.", "uuid.", "random.", "socket.", "os.getpid", "secrets.", "io."),
    *("tempfile.mk", "tempfile.NamedTemporaryFile", "tempfile.TemporaryDirectory"),
)
"""What gives each process something of its own."""


def is_of_all(path: Value, run: Run) -> bool:
    """Whether a path is the same in all processes, for all that is known."""
    parts = sources(path)
    if not path or not parts.isdisjoint(numbers(run)):
        return False
    return not any(_may_differ(part, run) for part in parts)


def _may_differ(part: Object, run: Run) -> bool:
    """Whether something may be another one in each process: it is computed from data, or nobody knows how."""
    made = run.makers.get(part)
    own = made is not None and made.name.startswith(OF_EACH)
    return own or bool(part.origins) or "foreign" in part.state
