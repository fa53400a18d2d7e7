"""A program under measurement at full size: what is put in place for it, and the report made of it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from gclint.verify.footprint import CONTEXT, Footprint, Option, Wanted
from gclint.verify.outcome import RankReport
from gclint.verify.recipe import ProgramRecipe
from gclint.verify.worker.fullsize import group
from gclint.verify.worker.fullsize.meter import Meter
from gclint.verify.worker.fullsize.options import OPTIONS
from gclint.verify.worker.shims import Replacements, install

RANKS, ENOUGH = (2, 4, 8), 3


class FullRun:
    """Stands where a `Run` does: `prepare`, then the program, then `ended` and `report`."""

    recorder: Any = None

    def __init__(self, recipe: ProgramRecipe, found: Replacements, wanted: Wanted):
        self.recipe, self.found, self.wanted = recipe, found, wanted
        self.meter = Meter(wanted, self._data_are_here)
        self.meter.keeps_gradients = "set_to_none=False" in found.text
        self.loader: Any = None

    def prepare(self) -> None:
        """Put everything in place."""
        self.loader = install(self.recipe, "cpu", self.found)
        self.meter.states = self.found.planned.get("states", "")
        self.meter.install()
        if self.wanted.ranks > 1:
            group.install(self.wanted.ranks, self.meter.ledger)

    def _data_are_here(self) -> bool:
        self.meter.states = self.found.planned.get("states", "")
        return "data set" not in self.found.made_up and not getattr(self.loader, "tokenized", False)

    def ended(self, error: BaseException | None) -> None:
        """The program is over; a copy of it ends here."""
        self.meter.ended(error)

    def report(self) -> RankReport:
        """What was measured, with the changes that were tried where it does not fit."""
        found = self.meter.footprint
        if found is None:
            self.meter.copies.dismiss()
            return RankReport(evidence="program", footprint=Footprint(unknown="the program took no optimizer step"))
        sizes = dict.fromkeys(self.loader.sizes.values()) if self.loader is not None else {}
        found = self._spread(replace(found, config=", ".join(sizes) or "the program's own model"))
        if self.wanted.capacity and found.total > self.wanted.capacity:
            found = replace(found, options=(*self._tried(self.meter.copies.ask(self._enough)), *_shared_out(found)))
        self.meter.copies.dismiss()
        return RankReport(evidence="program", footprint=found, step_count=1)

    def _spread(self, found: Footprint) -> Footprint:
        """One of several processes: its share where the program is sharded by what is not run here."""
        stage = self.found.planned.get("zero stage") or os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", "")
        ranks = self.wanted.ranks
        if ranks < 2 or self.meter.is_sharded or not (stage or self.wanted.sharded):
            return found
        told = f"shared out over {ranks} processes by formula"
        parts = found.sharded(ranks, stage=int(stage or 3))
        return replace(found, parts=parts, told="; ".join(filter(None, (found.told, told))))

    def _enough(self, answers: dict[str, dict[str, Any]]) -> bool:
        totals = [int(each.get("total", 0)) for each in answers.values()]
        return sum(0 < each <= self.wanted.capacity for each in totals) >= ENOUGH

    def _tried(self, answers: dict[str, dict[str, Any]]) -> list[Option]:
        made = []
        for name, title, _ in OPTIONS:
            answer = answers.get(name)
            if answer is not None and "skip" not in answer:
                made.append(Option(name, title, int(answer.get("total", 0)), error=answer.get("error", "")))
        return made


def _shared_out(found: Footprint) -> list[Option]:
    made = [
        Option(f"fsdp-{ranks}", f"FSDP2 or ZeRO-3 over {ranks} GPUs", _sum(found.sharded(ranks)), by_formula=True)
        for ranks in RANKS
    ]
    away = _sum(found.sharded(1, offloaded=True))
    return [*made, Option("offload", "FSDP2 or ZeRO-3 with everything offloaded to the CPU", away, by_formula=True)]


def _sum(parts: dict[str, int]) -> int:
    return sum(parts.values()) + CONTEXT
