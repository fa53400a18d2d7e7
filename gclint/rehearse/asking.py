"""The questions by name, and asking them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from gclint.rehearse.questions import (
    accumulation,
    batches,
    labels,
    losses,
    memory,
    modes,
    parameters,
    ranks,
    schedule,
    states,
    steps,
)
from gclint.rehearse.record import Recording
from gclint.rehearse.seen import Seen

Question = Callable[[Recording], Iterator[Seen]]
QUESTIONS: dict[str, Question] = {
    "parameters": parameters.ask,
    "steps": steps.ask,
    "accumulation": accumulation.ask,
    "losses": losses.ask,
    "modes": modes.ask,
    "batches": batches.ask,
    "labels": labels.ask,
    "schedule": schedule.ask,
    "ranks": ranks.ask,
    "memory": memory.ask,
    "states": states.ask,
}
T = TypeVar("T")


@dataclass
class Asking:
    """Asks questions, `only` those or all: `seconds` has what each took, `failed` those that failed, with the error."""

    only: Collection[str] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def of(self, name: str, question: Callable[[], Iterator[T]]) -> Iterator[T]:
        """What a question finds, until it fails; nothing where it is not asked."""
        if self.only and name not in self.only:
            return
        began = time.perf_counter()
        try:
            yield from question()
        except Exception as error:
            self.failed.append(f"{name}: {type(error).__name__}: {error}")
        finally:
            self.seconds[name] = time.perf_counter() - began


def ask(run: Recording, asking: Asking) -> list[Seen]:
    """What the questions find in a run, a place told once for each code."""
    found: dict[tuple[object, ...], Seen] = {}
    asking.failed += [
        f"a watcher of rank {record.rank}: {text}" for record in run for text in record.end.get("failed", ())
    ]
    for name, question in QUESTIONS.items():
        for seen in asking.of(name, lambda question=question: question(run)):  # type: ignore[misc]
            found.setdefault((seen.code, seen.place), seen)
    return list(found.values())


EXPLAINED = {
    "GCS1": "What should learn does not",
    "GCS2": "Gradients are lost, left over or spoilt",
    "GCS3": "The model is in the wrong mode",
    "GCS4": "The data is not what each rank, epoch or label should get",
    "GCS5": "A loss function gets what it is not made for",
    "GCS6": "The learning rate does not go as it was meant to",
    "GCS7": "The ranks do not stay together",
    "GCS8": "Memory grows",
    "GCS9": "States are not saved, loaded or continued whole",
}
