"""An inquiry: what is asked of a project, and what its texts tell before anything of it is walked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..listing import Listed
from ..rule import Rule
from .deferral import Deferral
from .entries import Entries
from .project import Project
from .reach import Reach


class Inquiry:
    """The rules that are asked of a project and the versions it is judged for; what of it leads to a finding, and how
    its programs start. With `keep_runs` every program is of interest, and its run is kept.
    """

    def __init__(
        self, project: Project, target: Mapping[str, str], rules: Sequence[Rule | Listed], keep_runs: bool = False
    ):
        self.project = project
        self.target = target
        self.rules = rules
        self.keep_runs = keep_runs
        gates = [rule.words for rule in rules if not rule.asks_of_files]
        self.reach = Reach(project, () if keep_runs else gates)
        telling = self.reach.telling if self.reach.gated else ()
        project.deferral = Deferral(project, self.reach.mentions, telling, self.reach.learnt.names)
        self.entries = Entries(project)
