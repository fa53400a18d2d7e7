"""How far a long analysis is, told to whoever watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Watcher = Callable[[str, int, int], None]
_watcher: Watcher | None = None


@contextmanager
def watched(by: Watcher) -> Iterator[None]:
    """Tell `by` what is walked, how many of them are done, and how many there are."""
    global _watcher
    held, _watcher = _watcher, by
    try:
        yield
    finally:
        _watcher = held


def tell(what: str, done: int, total: int) -> None:
    """Say how far it is; nobody hears it where nobody watches."""
    if _watcher is not None:
        _watcher(what, done, total)
