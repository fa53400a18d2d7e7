"""One rehearsal: the program is run small and looked at, then the questions are asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from gclint.finding import Finding
from gclint.rehearse.again import compiled, one_batch, reference, resume, twice
from gclint.rehearse.again.another import Another
from gclint.rehearse.asking import QUESTIONS, Asking, ask
from gclint.rehearse.record import Recording, read_records
from gclint.rehearse.rules import ask_rules
from gclint.rehearse.seen import Seen
from gclint.verify import Verifier
from gclint.verify.fitted import PATIENCE, fitted
from gclint.verify.outcome import Outcome
from gclint.verify.recipe import ProgramRecipe

OTHER_RUNS: dict[str, Callable[[Another], Iterator[Seen]]] = {
    "reference": reference.ask,
    "joined": one_batch.ask,
    "resume": resume.ask,
    "twice": twice.ask,
    "compiled": compiled.ask,
}
NAMES = (*QUESTIONS, *OTHER_RUNS, "rules")
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Rehearsal:
    """What was run, what was recorded, and what is wrong with it: what the questions have `seen`, and what the rules
    `found`. `seconds` has what the run and each question took, `failed` are questions that could not be asked.
    """

    recipe: ProgramRecipe
    outcome: Outcome
    recording: Recording
    seen: tuple[Seen, ...] = ()
    found: tuple[Finding, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    failed: tuple[str, ...] = ()

    @property
    def trained(self) -> bool:
        """Whether the run came far enough to say something: steps to its end, or ranks that do not meet."""
        return bool(self.recording.first.steps) and self.outcome.status == "finished"

    @property
    def codes(self) -> list[str]:
        """The codes of all that is wrong."""
        return [*(each.code for each in self.seen), *(each.code for each in self.found)]


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
    asking = Asking(only, {"run": time.perf_counter() - began})
    made_up = any(rank.made_up for rank in outcome.ranks)
    recording = Recording(read_records(directory, len(outcome.ranks)), outcome.status, made_up)
    seen = ask(recording, asking)
    other = Another(recipe, outcome, recording, verifier, directory)
    if outcome.status == "finished" and len(recording.first.steps) > 1:
        for name, question in OTHER_RUNS.items():
            tell(f"running {recipe.title} once more ({name})")
            seen += asking.of(name, lambda question=question: question(other))  # type: ignore[misc]
    seen = list({(each.code, each.place): each for each in reversed(seen)}.values())[::-1]
    found = list(asking.of("rules", lambda: ask_rules(recipe, outcome, recording, seen)))
    return Rehearsal(recipe, outcome, recording, tuple(seen), tuple(found), asking.seconds, tuple(asking.failed))
