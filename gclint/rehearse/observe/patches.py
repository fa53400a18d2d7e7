"""Functions of libraries that are watched, and given back. What fails in a watcher never reaches the program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class _Once:
    """The watched function as a watcher calls it: what it gave, or what it raised, is the program's."""

    __slots__ = ("done", "error", "function", "result")

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            self.result = self.function(*args, **kwargs)
        except BaseException as error:
            self.error = error
            raise
        self.done = True
        return self.result

    @property
    def __defaults__(self) -> Any:
        return self.function.__defaults__


class Patches:
    """Puts a watcher around functions; `undo` takes all of them away. `failed` has what failed in watchers, each of
    which watches no more from then on.
    """

    def __init__(self) -> None:
        self._held: list[tuple[Any, str, Any, bool]] = []
        self.failed: dict[Callable[..., Any], str] = {}

    def around(self, owner: Any, name: str, watch: Callable[..., Any]) -> None:
        """Have `watch(original, *args, **kwargs)` called in place of a function, where there is such a function."""
        original = getattr(owner, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if watch in self.failed:
                return original(*args, **kwargs)
            once = _Once(original)
            try:
                return watch(once, *args, **kwargs)
            except Exception as error:
                raised, once.error = once.error, None
                if raised is not None:
                    raise
                self._fail(watch, error)
            return once.result if once.done else original(*args, **kwargs)

        self._held.append((owner, name, original, name in vars(owner)))
        setattr(owner, name, watched)

    def hook(self, watch: Callable[..., Any]) -> Callable[..., Any]:
        """A watcher that a library calls itself; what it returns is for the library."""

        @functools.wraps(watch)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if watch not in self.failed:
                try:
                    return watch(*args, **kwargs)
                except Exception as error:
                    self._fail(watch, error)
            return None

        return watched

    def _fail(self, watch: Callable[..., Any], error: Exception) -> None:
        self.failed[watch] = f"{watch.__qualname__}: {type(error).__name__}: {error}"

    def undo(self) -> None:
        """Give every function back, the last first."""
        for owner, name, original, own in reversed(self._held):
            if own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)
        self._held.clear()
