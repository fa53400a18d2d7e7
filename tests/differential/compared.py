"""Derived calls held against what happened."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .derived import Derived, World, derive, told
from .executed import INPUTS, Happened, Inputs, Observed, observe


@dataclass
class Compared:
    """What was `missed` (it happened, and was not derived), `invented` (the other way round), and of how many observed
    values (`seen`) it was not told what they are (`unknown`); `failure` is what the analysis raised.
    """

    missed: list[tuple[Inputs, Observed]] = field(default_factory=list)
    invented: list[tuple[Inputs, Observed]] = field(default_factory=list)
    seen: int = 0
    unknown: int = 0
    failure: str = ""

    @property
    def verdict(self) -> str:
        """One word for all inputs: "raised", "missed", "invented", "unknown" or "exact"."""
        if self.failure:
            return "raised"
        if self.missed:
            return "missed"
        if self.invented:
            return "invented"
        return "unknown" if self.unknown else "exact"


def compare(text: str) -> Compared | None:
    """Run a program on all of its inputs and derive it once; None where it does not end."""
    happened = {inputs: observe(text, inputs) for inputs in INPUTS}
    if any(each is None for each in happened.values()):
        return None
    made = Compared()
    with tempfile.TemporaryDirectory() as directory:
        try:
            derived = derive(text, Path(directory).resolve())
        except Exception as error:
            made.failure = f"{type(error).__name__}: {error}"
            return made
        for inputs, observed in happened.items():
            if observed is not None:
                _compare(made, World(text, inputs), derived, observed)
    return made


def _compare(made: Compared, world: World, derived: list[Derived], happened: Happened) -> None:
    observed = set(happened.calls)
    certain: Counter[Observed] = Counter()
    open_lines: set[int] = set()
    for call in derived:
        holds = world.holds(call.guard)
        if holds is False:
            continue
        for value in told(call.value, world):
            if holds and value is not None:
                certain[Observed(call.line, value)] += 1
            else:
                open_lines.add(call.line)
    for each in observed:
        made.seen += 1
        if each not in certain:
            if each.line in open_lines:
                made.unknown += 1
            else:
                made.missed.append((world.inputs, each))
    if not happened.crashed:  # the walk goes on: programs are written to run
        made.invented += [(world.inputs, each) for each in certain if each not in observed]
