"""Functions of libraries that are watched, and given back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Patches:
    """Puts a watcher around functions; `undo` takes all of them away."""

    def __init__(self) -> None:
        self._held: list[tuple[Any, str, Any, bool]] = []

    def around(self, owner: Any, name: str, watch: Callable[..., Any]) -> None:
        """Have `watch(original, *args, **kwargs)` called in place of a function, where there is such a function."""
        original = getattr(owner, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            return watch(original, *args, **kwargs)

        self._held.append((owner, name, original, name in vars(owner)))
        setattr(owner, name, watched)

    def undo(self) -> None:
        """Give every function back, the last first."""
        for owner, name, original, own in reversed(self._held):
            if own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)
        self._held.clear()
