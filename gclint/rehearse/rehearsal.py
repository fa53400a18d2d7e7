"""One rehearsal: the program is run small and looked at, then the questions are asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from gclint.rehearse.asking import ask, attempted
from gclint.rehearse.record import Recording, read_records
from gclint.rehearse.second_run import ask_of_second_runs
from gclint.rehearse.seen import Seen
from gclint.verify import Verifier
from gclint.verify.fitted import PATIENCE, fitted
from gclint.verify.outcome import Outcome
from gclint.verify.recipe import ProgramRecipe

MADE_UP = ("data set", "rows", "tokenizer", "synthetic")
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Rehearsal:
    """What was run, what was recorded, and what is wrong with it; `failed` are questions that could not be asked."""

    recipe: ProgramRecipe
    outcome: Outcome
    recording: Recording
    seen: tuple[Seen, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    failed: tuple[str, ...] = ()

    @property
    def trained(self) -> bool:
        """Whether the run came far enough to say something: steps to its end, or ranks that do not meet."""
        return bool(self.recording.first.steps) and self.outcome.status == "finished"


def _small_enough(recipe: ProgramRecipe, verifier: Verifier) -> ProgramRecipe:
    """The program as it is where it is fast enough or its ranks do not meet, else as small as it still works."""
    hasty = replace(recipe, patience=0.0 if recipe.cold else PATIENCE)
    return hasty if verifier.outcome(hasty).status == "hung" else fitted(recipe, recipe, verifier.outcome)[0]


def rehearse(
    recipe: ProgramRecipe,
    verifier: Verifier,
    directory: Path,
    only: Collection[str] = (),
    tell: Tell = lambda text: None,
) -> Rehearsal:
    """Run a program small, record it in `directory`, and ask the questions (`only` those, by name)."""
    began = time.perf_counter()
    recipe = replace(recipe, record=str(directory))
    tell(f"running {recipe.title}")
    recipe = _small_enough(recipe, verifier)
    outcome = verifier.outcome(recipe)
    ran = time.perf_counter()
    made_up = any(word in each for each in outcome.replaced for word in MADE_UP)
    recording = Recording(read_records(directory, len(outcome.ranks)), outcome.status, made_up)
    seen, failed = ask(recording, only)
    asked = time.perf_counter()
    tell(f"running {recipe.title} once more")
    seconds = ask_of_second_runs(recipe, outcome, recording, verifier, directory, only)
    seen += attempted("second runs", seconds, failed)
    spent = {"run": ran - began, "questions": asked - ran, "second runs": time.perf_counter() - asked}
    return Rehearsal(recipe, outcome, recording, tuple(seen), spent, tuple(failed))
