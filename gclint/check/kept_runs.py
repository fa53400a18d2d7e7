"""Walks of an earlier analysis, with their runs, for another analysis of the same project of which few files differ.

A walk is the same where the texts that it read are, the answers to which of the modules it imports are quiet, how its
program starts, and what earlier walks entered of its file. Rules, versions and whatever lies on the disk are taken to
be those of the earlier analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .inquiry import Inquiry
from .walks import Consulted, Task, Walked, Wanted

if TYPE_CHECKING:
    from ..run.run import Run


@dataclass(frozen=True)
class KeptWalk:
    """A walk that was made, what it was given, what it asked for, and the runs that it made."""

    wanted: Wanted
    made: Walked
    consulted: Consulted
    runs: tuple[Run, ...]


class KeptRuns:
    """The walks of an analysis that keeps its `runs`; `walks` has them, those of `like` among them where they hold."""

    def __init__(self, inquiry: Inquiry, runs: list[Run], like: dict[Task, KeptWalk]):
        self._inquiry = inquiry
        self._like = like
        self._runs = runs
        self._taken = 0
        self.walks: dict[Task, KeptWalk] = {}

    def learn(self, paths: Sequence[str]) -> None:
        """Learn what leads to a finding: where all runs are kept, everything counts."""
        self._inquiry.reach.learn(paths)

    def recall(self, wanted: Wanted) -> Walked | None:
        """What came of a walk in the earlier analysis, None where it would come to something else now."""
        kept = self._like.get(wanted.task)
        if (
            kept is None
            or not kept.wanted.comes_to(wanted, kept.made.steps)
            or not kept.consulted.holds(self._inquiry.project)
        ):
            return None
        self.walks[wanted.task] = kept
        self._runs += kept.runs
        return replace(kept.made, consulted=None)

    def keep(self, wanted: Wanted, made: Walked) -> None:
        """Keep a walk with the runs that were made since the last one."""
        runs, self._taken = tuple(self._runs[self._taken :]), len(self._runs)
        if made.consulted is not None and not made.problems:
            self.walks[wanted.task] = KeptWalk(wanted, made, made.consulted, runs)

    def save(self) -> None:
        """Nothing is written: runs do not outlive the process."""
