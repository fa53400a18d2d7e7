"""How far a long analysis is, told to whoever watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Watcher = Callable[[str, int, int, str], None]
_watcher: Watcher | None = None


@contextmanager
def watched(by: Watcher) -> Iterator[None]:
    """Tell `by` what is gone through, how many of them are done, how many there are, and which file is next."""
    global _watcher
    held, _watcher = _watcher, by
    try:
        yield
    finally:
        _watcher = held


def tell(what: str, done: int, total: int, path: str) -> None:
    """Say how far it is; nobody hears it where nobody watches."""
    if _watcher is not None:
        _watcher(what, done, total, path)
