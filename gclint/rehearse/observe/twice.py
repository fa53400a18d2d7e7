"""An evaluation called twice, with the same random numbers and clocks: does it give the same, and change nothing?"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from gclint.rehearse.observe.marks import TURNS, TWICE
from gclint.rehearse.observe.numbers import alike, numbers, random_states, reals, restore
from gclint.rehearse.observe.unchanged import saved
from gclint.rehearse.observe.watch import Watch
from gclint.rehearse.record import Place

TICK = 0.01
CLOCKS = ("time", "perf_counter", "monotonic")
TRAINERS = (
    ("transformers.trainer", "Trainer", "evaluate"),
    ("lightning.pytorch.loops.evaluation_loop", "_EvaluationLoop", "run"),
    ("pytorch_lightning.loops.evaluation_loop", "_EvaluationLoop", "run"),
)
"""Modules, classes and methods by which trainers evaluate (transformers 4.x and 5.x, Lightning 2.x)."""


class Twice:
    """Computes what is marked in the program's text once more, where it first evaluates a model; so each evaluation of
    a library's trainer, until one has evaluated.
    """

    def __init__(self, watch: Watch):
        self.watch = watch
        self._calls: list[_Call] = []
        self._depth = 0
        self._looks = self._done = False

    def install(self) -> None:
        """Start looking."""
        vars(builtins).update({TWICE: self._decorated, TURNS: self._turns})
        self.watch.patches.around(torch.nn.Module, "__call__", self._calling)
        for owner, name in ((each, name) for module, kind, name in TRAINERS if (each := _held(module, kind))):
            self.watch.patches.around(owner, name, self._trainer_evaluates)

    def _calling(self, original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        self._depth += 1
        try:
            result = original(module, *args, **kwargs)
        finally:
            self._depth -= 1
        if self._depth == 0:
            trains = torch.is_grad_enabled() and module.training and any(True for _ in module.parameters())
            self._calls.append(_Call(numbers((args, kwargs)), numbers(result), trains))
        return result

    def _decorated(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            return function

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) if self._done else self._evaluated(function, args, kwargs)

        return called

    def _trainer_evaluates(self, original: Any, trainer: Any, *args: Any, **kwargs: Any) -> Any:
        if self._done:
            return original(trainer, *args, **kwargs)
        asked = [getattr(trainer, "compute_metrics", None), getattr(_module(trainer), "validation_step", None)]
        codes = [code for each in asked if (code := getattr(each, "__code__", None)) is not None]
        own = ((self.watch.places.own(each.co_filename), each.co_firstlineno) for each in codes)
        where = next(((name, line) for name, line in own if name is not None), None) or self.watch.places.here()
        try:
            return self._evaluated(original, (trainer, *args), kwargs, where)
        except Exception as error:
            self.watch.write("evaluation failed", self.watch.places.of(error) or where, error=_line(error))
            raise

    def _evaluated(self, function: Callable[..., Any], args: Any, kwargs: Any, where: Place | None = None) -> Any:
        results: list[Any] = []
        for _ in self._turns(where, [each for each in args if isinstance(each, torch.nn.Module)], results):
            results.append(function(*args, **kwargs))
        return results[0]

    def _turns(
        self, where: Place | None = None, given: Sequence[Any] = (), results: Sequence[Any] = ()
    ) -> Iterator[None]:
        """Give one turn, and a second one after a first that has evaluated; tell what is other in it. What is `given`
        is looked at as the models that are known, `results` has what the turns return.
        """
        if self._done or self._looks:
            yield
            return
        states, before = random_states(), self._tensors(given)
        one = yield from self._turn()
        if not one or any(each.trains for each in one):
            return
        self._done = True
        after = self._tensors(given)
        restore(states)
        other = yield from self._turn()
        same = [each.given for each in one] == [each.given for each in other]
        pairs = zip(reals(results[0]), reals(results[-1]), strict=False) if results else ()
        self.watch.write(
            "evaluated",
            where,
            changed=sorted(name for name, value in before.items() if after.get(name, value) != value),
            same=same,
            apart=next(([a, b] for a, b in pairs if not alike([a], [b])), None),
            outputs=sum(not alike(a.result, b.result) for a, b in zip(one, other, strict=False)),
        )

    def _turn(self) -> Generator[None, None, list[_Call]]:
        self._calls, self._looks = [], True
        try:
            with _clock():
                yield
        finally:
            self._looks = False
        return self._calls

    def _tensors(self, given: Sequence[Any]) -> dict[str, list[float]]:
        """What is saved of the models that are known, and given."""
        found: dict[str, list[float]] = {}
        for module in (*self.watch.roots, *given):
            found = {**saved(module), **found}
        return found


@dataclass(frozen=True)
class _Call:
    """What a model was given and gave, in numbers, and whether it was called to learn."""

    given: list[float]
    result: list[float]
    trains: bool


def _held(module: str, kind: str) -> Any:
    """A class of a module, where that is imported."""
    return getattr(sys.modules.get(module), kind, None)


def _module(loop: Any) -> Any:
    """The module that a loop of Lightning evaluates."""
    return getattr(getattr(loop, "trainer", None), "lightning_module", None)


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"[:400]


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
