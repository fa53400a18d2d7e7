"""Another run of a program that was rehearsed, to be compared with the first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gclint.rehearse.record import Recording, read_records
from gclint.verify import Verifier
from gclint.verify.outcome import Outcome
from gclint.verify.recipe import ProgramRecipe

TRAINERS = ("trainers: ", "Lightning's Trainer: ")


@dataclass(frozen=True)
class Another:
    """What was run and what came of it; `directory` holds its record, and below it those of the other runs."""

    recipe: ProgramRecipe
    outcome: Outcome
    first: Recording
    verifier: Verifier
    directory: Path

    def run(self, name: str, *, reference: bool = False, **changes: Any) -> tuple[Outcome, Recording]:
        """Run the program with some of its recipe changed; what it recorded is kept under a name."""
        place = self.directory / name
        place.mkdir()
        recipe = replace(self.recipe, record=str(place), **changes)
        outcome = self.verifier.outcome(recipe, reference=reference)
        return outcome, Recording(read_records(place, max(len(outcome.ranks), 1)), outcome.status)


def has_trainer(outcome: Outcome) -> bool:
    """Whether a library's trainer was cut in a run: it neither saved nor evaluated."""
    return any(each.startswith(TRAINERS) for each in outcome.replaced)
