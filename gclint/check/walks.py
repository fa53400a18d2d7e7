"""Walks: which is to be made, and what came of it; what crosses from one process, or from one check, to another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ..config import CERTAINTIES
from ..failures import Problem
from ..finding import Finding
from ..ir.entries import Entry
from ..pins.versions import Targets
from ..source.syntax import SyntaxFault

if TYPE_CHECKING:
    from ..ir.project import Project

Key = tuple[str, int, int, str]
CONFIGURATION_KINDS = ("yaml", "json")


class Task(NamedTuple):
    """A walk to be made: of the program that starts so or, where `entry` is None, of what no program reached in the
    file; of a configuration file by itself. It is a `further` one where the same program is walked as another launch
    starts it. It is `among` programs where the project has some, and `beside` them where none of them comes to what is
    walked, also by a name that no text spells out.
    """

    path: str
    entry: Entry | None
    further: bool = False
    beside: bool = False
    among: bool = False


class Sought(NamedTuple):
    """A finding by its file, line and code, that is at least so sure."""

    path: str
    line: int
    code: str
    certainty: str

    def is_told(self, finding: Finding) -> bool:
        """Whether a finding is this one."""
        told = (finding.location.path, finding.location.line, finding.code)
        sure = CERTAINTIES.index(finding.certainty) >= CERTAINTIES.index(self.certainty)
        return sure and told == (self.path, self.line, self.code)


class AllFound(BaseException):
    """A walk has found all that it was to find: whatever handles errors on the way lets it pass."""


class Wanted(NamedTuple):
    """A walk that is asked for, and what earlier ones entered of its file; None where they did not walk it. That of a
    program takes so many `steps` at most. It ends where all is found that it goes on `until`, if that is said.
    """

    task: Task
    before: Entered | None
    steps: int = 0
    until: frozenset[Sought] = frozenset()

    def comes_to(self, other: Wanted, taken: int) -> bool:
        """Whether it comes to the same as another one, of a program too, that took so many steps."""
        fits = self.steps == other.steps or taken < min(self.steps, other.steps)
        return self.task == other.task and fits and (self.task.entry is not None or self.before == other.before)


class Entered(NamedTuple):
    """What was entered of a file whose top level was walked: the functions and the classes that were instantiated,
    each by its place in `Module.definitions`.
    """

    functions: frozenset[int] = frozenset()
    classes: frozenset[int] = frozenset()

    def __or__(self, other: Entered) -> Entered:
        return Entered(self.functions | other.functions, self.classes | other.classes)


class Consulted(NamedTuple):
    """The files that a walk asked for, each with what tells whether its content changed, and those of which it asked
    whether they are quiet, each with the answer.
    """

    texts: dict[str, str]
    quiet: dict[str, bool]

    def holds(self, project: Project) -> bool:
        """Whether a walk that asked for this would be told the same of a project now."""
        return all(project.digest(path) == told for path, told in self.texts.items()) and all(
            project.deferral.is_quiet(path) == told for path, told in self.quiet.items()
        )


@dataclass
class Walked:
    """What came of a walk; it may cross from one process to another.

    `found` is unique by place and code; `files` are those whose top level was walked; `broken` are those it asked for
    that do not parse; `cut` says where a program reached its bound, `steps` how many it took. Where the
    program has options that its launch `leaves_out`, they had their defaults. A walk that was remembered consulted
    nothing.
    """

    path: str
    targets: Targets = field(default_factory=Targets)
    found: dict[Key, Finding] = field(default_factory=dict)
    problems: dict[Problem, None] = field(default_factory=dict)
    files: dict[str, Entered] = field(default_factory=dict)
    broken: dict[str, SyntaxFault] = field(default_factory=dict)
    cut: Finding | None = None
    steps: int = 0
    leaves_out: bool = False
    consulted: Consulted | None = None


def keep(found: dict[Key, Finding], finding: Finding) -> bool:
    """Keep a finding, unless one of the same place and code says more; returns whether it is kept."""
    held = found.get(finding.key)
    says_more = held is None or _weight(finding) > _weight(held)
    if says_more:
        found[finding.key] = finding
    return says_more


def _weight(finding: Finding) -> tuple[int, int, int]:
    return (CERTAINTIES.index(finding.certainty), -len(finding.condition), len(finding.fixes))
