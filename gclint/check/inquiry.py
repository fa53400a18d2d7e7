"""An inquiry: what is asked of a project, and what its texts tell before anything of it is walked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..ir.deferral import Deferral
from ..ir.entries import Entries
from ..ir.index import Index
from ..ir.project import Project
from ..ir.reach import Reach
from ..listing import Listed
from ..pins.manifests import SCRIPT
from ..pins.versions import Targets, targets_for
from ..rule import Rule
from ..source.cache import digest
from ..source.folders import repository_of
from ..source.ledger import Ledger

if TYPE_CHECKING:
    from ..run.looking import Look
    from ..run.observed import Observed


class Inquiry:
    """The rules that are asked of a project and the versions it is judged for; what of it leads to a finding, and how
    its programs start. With `keep_runs` every program is of interest, and its run is kept; one that was `observed` is
    walked along the way that it took; with a `look` the walks tell what stands in that place.
    """

    def __init__(
        self,
        project: Project,
        target: Mapping[str, str],
        rules: Sequence[Rule | Listed],
        keep_runs: bool = False,
        observed: Observed | None = None,
        look: Look | None = None,
    ):
        self.project = project
        self.observed, self.look = observed, look
        self.target = target
        self.rules = rules
        self.keep_runs = keep_runs
        gates = [rule.words for rule in rules if not rule.asks_of_files]
        self.reach = Reach(project, () if keep_runs else gates, target)
        telling = self.reach.telling if self.reach.gated else ()
        project.deferral = Deferral(project, self.reach.mentions, telling, self.reach.learnt.names)
        project.index = Index(self.reach.words.vocabulary)
        self.entries = Entries(project)
        self._targets: dict[tuple[Path, str], Targets] = {}
        self._around: dict[Path, Path] = {}

    def targets(self, path: str) -> Targets:
        """What a file (an absolute path) is judged for: the targets of its directory, unless the file may state
        dependencies of its own; raises TargetError for a version that cannot be read.
        """
        source = self.project.sources.get(path)
        own = source is None or source.kind == "notebook" or SCRIPT in source.marks
        below = self.project.pinned_below(path)
        if below not in self._around:
            self._around[below] = Path(repository_of(str(below)))
        place = self._around[below], path if own else os.path.dirname(path)
        if place not in self._targets:
            self._targets[place] = targets_for(place[0], Path(place[1]), self.target)
        return self._targets[place]

    def keep_index(self, place: str | dict[str, str]) -> None:
        """Take what texts told from an earlier check, and keep it for a later one."""
        words = self.reach.words
        ledger = Ledger(place, f"index-{digest([str(self.project.root), *words.words])}")
        self.project.index = Index(words.vocabulary, ledger)
