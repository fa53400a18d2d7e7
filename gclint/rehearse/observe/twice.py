"""An evaluation called twice, with the same random numbers and clocks: does it give the same, and change nothing?"""

from __future__ import annotations

import builtins
import functools
import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from gclint.rehearse.observe.marks import TWICE
from gclint.rehearse.observe.numbers import alike, numbers, random_states, reals, restore
from gclint.rehearse.observe.unchanged import saved
from gclint.rehearse.observe.watch import Watch

TICK = 0.01
CLOCKS = ("time", "perf_counter", "monotonic")


class Twice:
    """Calls the function that is marked in the program's text once more, when it is first called."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._calls: list[tuple[list[float], list[float]]] = []
        self._depth = 0
        self._done = False

    def install(self) -> None:
        """Start looking."""
        setattr(builtins, TWICE, self._decorated)
        self.watch.patches.around(torch.nn.Module, "__call__", self._calling)

    def _calling(self, original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        self._depth += 1
        try:
            result = original(module, *args, **kwargs)
        finally:
            self._depth -= 1
        if self._depth == 0:
            self._calls.append((numbers((args, kwargs)), numbers(result)))
        return result

    def _decorated(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            return function

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            if self._done:
                return function(*args, **kwargs)
            self._done = True
            return self._evaluated(function, args, kwargs)

        return called

    def _evaluated(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        states, before = random_states(), self._tensors(args)
        results, calls = [], []
        for _ in range(2):
            restore(states)
            self._calls = []
            with _clock():
                results.append(function(*args, **kwargs))
            calls.append(self._calls)
            if len(results) == 1:
                after = self._tensors(args)
        one, other = calls
        same = [each[0] for each in one] == [each[0] for each in other]
        pairs = zip(reals(results[0]), reals(results[1]), strict=False)
        apart = next(([a, b] for a, b in pairs if not alike([a], [b])), None)
        self.watch.write(
            "evaluated",
            changed=sorted(name for name, value in before.items() if after.get(name, value) != value),
            same=same and bool(one),
            apart=apart,
            outputs=sum(not alike(a[1], b[1]) for a, b in zip(one, other, strict=False)),
        )
        return results[0]

    def _tensors(self, args: Any) -> dict[str, list[float]]:
        """The same of the models that are known, and given."""
        given = [each for each in args if isinstance(each, torch.nn.Module)]
        found: dict[str, list[float]] = {}
        for module in (*self.watch.roots, *given):
            found = {**saved(module), **found}
        return found


@contextmanager
def _clock() -> Iterator[None]:
    """Clocks that go on by the same amount whenever they are asked, so that times do not tell calls apart."""
    held = {name: getattr(time, name) for name in CLOCKS}
    passed = [0.0]

    def ticked() -> float:
        passed[0] += TICK
        return passed[0]

    try:
        for name in CLOCKS:
            setattr(time, name, ticked)
        yield
    finally:
        for name, clock in held.items():
            setattr(time, name, clock)
