"""Facts: what happens at a line of a program, as it was observed or derived."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Place = tuple[str, int]
EVENTS = (
    "optimizer",
    "step",
    "backward",
    "zeroed",
    "clip",
    "scheduler",
    "schedule step",
    "forward",
    "loss",
    "loader",
    "save",
    "read",
    "load",
)
SAME, OPEN, UNKNOWN, MISSED, CONTRADICTED = "same", "open", "unknown", "missed", "contradicted"
LOOP = "by a library's loop"
STATES = (SAME, OPEN, UNKNOWN, MISSED, CONTRADICTED)


@dataclass(frozen=True)
class Observed:
    """An event at a line (file below the project's root, line from 1), with each value that was seen of it there."""

    event: str
    place: Place
    values: dict[str, set[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Derived:
    """An event at lines (file, first, last), whether nothing is left open about getting there, and its values: those
    that it may have, None for one that nobody knows. With `all_of_it` a library's loop does everything there.
    """

    event: str
    place: tuple[str, int, int]
    sure: bool
    values: dict[str, set[Any] | None] = field(default_factory=dict)
    all_of_it: bool = False

    def is_at(self, place: Place) -> bool:
        """Whether a line is one of its own."""
        file, first, last = self.place
        return place[0] == file and first <= place[1] <= last


@dataclass(frozen=True)
class Judged:
    """An observed fact, and how the derived run stands to it; `about` names the value that decides, if any."""

    fact: Observed
    state: str
    about: str = ""


def judged(observed: Iterable[Observed], derived: Iterable[Derived]) -> list[Judged]:
    """How the derived facts stand to each of the observed ones."""
    given = list(derived)
    return [_judged(each, [item for item in given if item.is_at(each.place)]) for each in observed]


def _judged(fact: Observed, there: list[Derived]) -> Judged:
    if any(item.all_of_it for item in there):
        return Judged(fact, SAME, LOOP)
    same = [item for item in there if item.event == fact.event]
    if not same:
        return Judged(fact, MISSED)
    for name, seen in fact.values.items():
        told = [item.values[name] for item in same if name in item.values]
        if any(each is None for each in told):
            return Judged(fact, UNKNOWN, name)
        known = {value for each in told if each is not None for value in each}
        if told and not seen <= known:
            return Judged(fact, CONTRADICTED, f"{name}: {sorted(map(str, seen))}, not {sorted(map(str, known))}")
        if told and known != seen and not any(item.values.get(name) == seen for item in same):
            return Judged(fact, OPEN, name)
    return Judged(fact, SAME if any(item.sure for item in same) else OPEN, "")
