"""A program that is too slow as it is, is run smaller: the same before and after the edit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gclint.verify.outcome import Outcome
from gclint.verify.recipe import ProgramRecipe
from gclint.verify.worker.refusal import SLOW

PATIENCE = 20.0
WAYS = (("numbers", "layers"), ("numbers",), ("layers",))
TOO_MUCH = ("timeout", "killed", "hung")


def fitted(
    before: ProgramRecipe, after: ProgramRecipe, outcome: Callable[[ProgramRecipe], Outcome]
) -> tuple[ProgramRecipe, ProgramRecipe]:
    """Return both programs as they are where the first is fast enough, else as small as it still works.

    `outcome` runs a program. One that takes no optimizer step within 20 seconds is run again with smaller numbers and
    fewer layers. That stays where it takes steps, or fails in two ways of being small alike; else nothing is changed.
    """
    hasty = replace(before, patience=0.0 if before.cold else PATIENCE)
    if not _too_much(outcome(hasty)):
        return hasty, after
    failed = set()
    for way in WAYS:
        tried = replace(hasty, small=way)
        made = outcome(tried)
        line = "" if made.raised is None else made.raised.line
        if (made.first.step_count and not _too_much(made)) or (line and line in failed):
            return tried, replace(after, small=way)
        failed.add(line)
    return before, after


def _too_much(made: Outcome) -> bool:
    return made.status in TOO_MUCH or SLOW in made.reason
