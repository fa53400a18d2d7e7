"""A program that does not run as it is, is started as it asks for: by a launcher, or smaller where it is too slow.

It is the same before and after the edit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from gclint.verify.outcome import Outcome
from gclint.verify.recipe import ProgramRecipe
from gclint.verify.worker.refusal import SLOW

PATIENCE = 20.0
WAYS = (("numbers", "layers"), ("numbers",), ("layers",))
TOO_MUCH = ("timeout", "killed", "hung")
# What torchrun sets for its workers: https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
SET_BY_TORCHRUN = r"(?:(?:LOCAL_|GROUP_|ROLE_)?RANK|(?:LOCAL_|ROLE_)?WORLD_SIZE|MASTER_(?:ADDR|PORT))"
NO_LAUNCHER = re.compile(rf"KeyError: '{SET_BY_TORCHRUN}'|environment variable {SET_BY_TORCHRUN} expected")


def fitted(
    before: ProgramRecipe, after: ProgramRecipe, outcome: Callable[[ProgramRecipe], Outcome]
) -> tuple[ProgramRecipe, ProgramRecipe]:
    """Return both programs as they are where the first is fast enough, else as small as it still works.

    `outcome` runs a program. One that ends because a launcher's variable is not set is started as torchrun starts it,
    in two processes. One that takes no optimizer step within 20 seconds is run again with smaller numbers and
    fewer layers. That stays where it takes steps, or fails in two ways of being small alike; else nothing is changed.
    """
    hasty = replace(before, patience=0.0 if before.cold else PATIENCE)
    if hasty.world_size == 1 and _ended_without_launcher(outcome(hasty)):
        return fitted(replace(before, world_size=2), replace(after, world_size=2), outcome)
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


def lacks_launcher(error: str) -> bool:
    """Whether an error says that no launcher has set its variables (torch/distributed/rendezvous.py)."""
    return NO_LAUNCHER.search(error) is not None


def _ended_without_launcher(made: Outcome) -> bool:
    return made.raised is not None and lacks_launcher(made.raised.line)


def _too_much(made: Outcome) -> bool:
    return made.status in TOO_MUCH or SLOW in made.reason
