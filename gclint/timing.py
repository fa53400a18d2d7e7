"""Where a command's time goes, by stage and by rule; measured only under `--timing`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter, process_time
from typing import Any, TypeVar

_FEWEST_MS = 1.0
T = TypeVar("T")


class stage:
    """A block whose time counts under a name; what a stage inside it takes counts for that one alone."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        if _clock is not None:
            _clock.enter(self.name)

    def __exit__(self, *ignored: object) -> None:
        if _clock is not None:
            _clock.leave()


def measured(name: str, ask: Callable[..., Iterable[T]]) -> Callable[..., Iterable[T]]:
    """Return what asks the same, and whose time counts under a name where time is measured."""
    if _clock is None:
        return ask

    def asking(*given: Any) -> Iterator[T]:
        with stage(name):
            yield from ask(*given)

    return asking


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {"start of Python and gclint": process_time()}
        self._open = ["everything else"]
        self._since = perf_counter()

    def enter(self, name: str) -> None:
        self._count()
        self._open.append(name)
        self.seconds.setdefault(name, 0.0)

    def leave(self) -> None:
        self._count()
        self._open.pop()

    def _count(self) -> None:
        now, name = perf_counter(), self._open[-1]
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now

    def read(self) -> dict[str, float]:
        self._count()
        return self.seconds


_clock: _Clock | None = None


def begin() -> None:
    """Measure from here on; what the process took until now counts as its start."""
    global _clock
    _clock = _Clock()


def table() -> str:
    """Return lines of `name  milliseconds`: the stages as they began, the rules by what their questions took.

    Milliseconds of wall clock, of processor time for the start; "" where nothing was measured.
    """
    if _clock is None:
        return ""
    spent = {name: seconds * 1000 for name, seconds in _clock.read().items()}
    rules = {name: each for name, each in spent.items() if name.startswith("rule ")}
    stages = {name: each for name, each in spent.items() if name not in rules and name != "everything else"}
    told = sorted((name for name in rules if rules[name] >= _FEWEST_MS), key=lambda name: -rules[name])
    others = [name for name in rules if name not in told]
    rows = [*stages.items(), *((name, rules[name]) for name in told)]
    if others:
        rows.append((f"{len(others)} rules below {_FEWEST_MS:g} ms each", sum(rules[name] for name in others)))
    rows += [("everything else", spent["everything else"]), ("total", sum(spent.values()))]
    return "".join(f"{name:<32}{each:>12,.1f} ms\n" for name, each in rows)
