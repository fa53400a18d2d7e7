"""A program's own step at full size: what is asked of it, and what came of it against a device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gclint.source.source import Source, Unreadable, parse
from gclint.verify.codec import to_data
from gclint.verify.fitted import lacks_launcher
from gclint.verify.footprint import CONTEXT, Footprint, Option, Wanted
from gclint.verify.recipe import ProgramRecipe
from gclint.verify.sizes import likely_length

if TYPE_CHECKING:
    from gclint.verify.api import Verifier


@dataclass(frozen=True)
class Fit:
    """A step of the full-size run against a device of `capacity` bytes (0: none is known)."""

    footprint: Footprint
    capacity: int = 0

    @property
    def fits(self) -> bool | None:
        """Whether the run fits; None where figures or a device are missing."""
        if self.footprint.unknown or not self.capacity:
            return None
        return self.footprint.total <= self.capacity

    @property
    def options(self) -> tuple[Option, ...]:
        """The changes that were tried: those with which the run fits first, each the sooner the less it changes."""
        fitting = [each for each in self.footprint.options if not each.error and each.total <= self.capacity]
        return (*fitting, *(each for each in self.footprint.options if each not in fitting))

    def to_data(self) -> dict[str, object]:
        """Return everything as JSON data, with `fits`, `total` and `margin`."""
        found = self.footprint
        if found.unknown:
            return {"unknown": found.unknown, "config": found.config}
        named = ("model", "config", "parameters", "trainable", "batch_size", "sequence_length", "checkpointing", "told")
        return {
            **{name: getattr(found, name) for name in named},
            "moment": found.moment,
            "bytes": {**found.parts, "CUDA context": CONTEXT},
            "tensors": found.tensors,
            "reserved": found.reserved,
            "total": found.total,
            "capacity": self.capacity or None,
            "margin": self.capacity - found.total if self.capacity else None,
            "fits": self.fits,
            "options": [
                {**to_data(each), "fits": not each.error and each.total <= self.capacity} for each in self.options
            ],
        }


def measured(recipe: ProgramRecipe, wanted: Wanted, verifier: Verifier) -> Fit:
    """Measure a step of the program at full size; as one of two processes where it ends without a launcher's
    variables and nothing says how many there are.
    """
    asked = asking(recipe, wanted)
    found = verifier.footprint(asked)
    if asked.full is not None and asked.full.ranks < 2 and lacks_launcher(found.unknown):
        found = verifier.footprint(asking(recipe, replace(wanted, ranks=2)))
        found = replace(found, told="; ".join(filter(None, (found.told, "one of 2 processes: --nproc says how many"))))
    return Fit(found, wanted.capacity)


def asking(recipe: ProgramRecipe, wanted: Wanted) -> ProgramRecipe:
    """The program as it is measured at full size: one process, at its own sizes."""
    root = Path(str(recipe.copy_of))
    length, told = likely_length(_sources(root)) or (0, "")
    ranks = wanted.ranks or recipe.planned_processes or recipe.world_size
    sharded = recipe.strategy not in ("", "ddp")
    wanted = replace(wanted, likely_length=length, told=told, ranks=ranks, sharded=sharded)
    return replace(recipe, world_size=1, full=wanted, short=False, cold=False, stop_after=1, not_run=())


def _sources(root: Path) -> Iterable[Source]:
    from gclint.verify.project import files_of

    for name, _ in files_of(root):
        if name.endswith(".py"):
            try:
                yield parse(name, root / name, (root / name).read_bytes())
            except (OSError, Unreadable):
                continue
