"""What was seen of a run: one list of events for each rank, as the workers wrote them.

An event is a JSON object: `kind`, `at` (file and line of the user's code, or null), `step` (optimizer steps taken so
far) and what the kind says besides. The kinds, and who writes them:

    optimizer, step, backward, clip, zeroed, scheduler     gclint/rehearse/observe/training.py
    forward, dropout                                       .../calls.py
    loss                                                   .../losses.py
    loader, epoch, batch                                   .../loading.py
    collective, joined, draw, split                        .../ranks.py
    save, load, optimizer-load                             .../states.py
    graph, sync                                            .../memory.py
    model, end                                             .../parameters.py, observer.py
    marks                                                  .../marks.py
    evaluated, evaluation failed, unsettled                .../twice.py, unchanged.py (in another run)
    fetched                                                .../joined.py (in another run)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Event = dict[str, Any]
Place = tuple[str, int]


@dataclass(frozen=True)
class Record:
    """The events of one rank, in the order in which they happened."""

    rank: int
    events: tuple[Event, ...]

    def of(self, *kinds: str) -> list[Event]:
        """The events of these kinds."""
        return [event for event in self.events if event["kind"] in kinds]

    @cached_property
    def parameters(self) -> dict[int, Event]:
        """What is known of each parameter at the end, by its number; empty where the run did not come to its end."""
        return {each["id"]: each for event in self.of("model") for each in event["parameters"]}

    @cached_property
    def marks(self) -> dict[str, Any]:
        """What the marks in the program's files told, by file; empty where the run did not come to its end."""
        return next((dict(each["files"]) for each in self.of("marks")), {})

    @cached_property
    def end(self) -> Event:
        """What was true when the run ended; empty where it was cut off from outside."""
        return next(iter(self.of("end")), {})

    @property
    def steps(self) -> list[Event]:
        """The optimizer steps."""
        return self.of("step")


@dataclass(frozen=True)
class Recording:
    """The records of all ranks of one run, rank 0 first.

    `status` is how it ended ("finished", "raised", "hung", ...); with `made_up` the rows or the tokens of its data were
    not the program's own.
    """

    ranks: tuple[Record, ...]
    status: str = "finished"
    made_up: bool = False

    @property
    def first(self) -> Record:
        """The record of rank 0."""
        return self.ranks[0]

    def __iter__(self) -> Iterator[Record]:
        return iter(self.ranks)


def place_of(event: Event) -> Place | None:
    """Where in the user's code an event happened."""
    at = event.get("at")
    return (str(at[0]), int(at[1])) if at else None


def read_records(directory: Path, ranks: int) -> tuple[Record, ...]:
    """Read what the ranks of a run wrote; a line that a killed process left unfinished ends its record."""
    return tuple(Record(rank, tuple(_events(directory / f"rank-{rank}.jsonl"))) for rank in range(ranks))


def _events(path: Path) -> Iterator[Event]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return
