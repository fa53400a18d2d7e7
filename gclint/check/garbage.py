"""The collector of garbage, asked to look rarely: syntax trees are millions of small objects, next to none garbage.

Over transformers 5.23 it took a third of an analysis's time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

COLLECTED_AFTER = (2_000_000, 20, 20)


def collect_rarely() -> None:
    """Look for garbage rarely from now on, in a process that ends soon."""
    gc.set_threshold(*COLLECTED_AFTER)


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Look for garbage rarely meanwhile."""
    held = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*held)
