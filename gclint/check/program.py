"""Programs: the entry points of a project, each walked as the run it starts."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from gclint.launch import Launch
from gclint.source.source import Source

from ..failures import Problem
from ..finding import Finding, Location
from ..forks import Forks, Lost
from ..ir.configs import MAX_BYTES
from ..ir.entries import Entry, with_more_options
from ..ir.gate import spelled
from ..ir.project import Project
from ..listing import Listed
from ..progress import tell
from ..rule import Rule
from ..run.bounds import launches_left_out, steps_left
from ..timing import stage
from .allowed import Origins, said
from .inquiry import Inquiry
from .kept_runs import KeptRuns, KeptWalk
from .memory import Memory
from .walks import CONFIGURATION_KINDS, Entered, Key, Task, Walked, Wanted, keep

if TYPE_CHECKING:
    from ..ir.reach import Learnt
    from ..run.looking import Look
    from ..run.observed import Observed
    from ..run.run import Run
    from .walker import Walker

ENTRY_KINDS = ("python", "notebook")
SETUP = f"{os.sep}setup.py"  # what installs a package is none of its programs
SECONDS_ALONE = 1.0
FEW_SOURCES = 30


@dataclass
class Analysis:
    """What the rules found, and what could not be judged; with the runs that are kept, the walks that made them."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    walks: dict[Task, KeptWalk] = field(default_factory=dict)


def analyse(
    sources: Sequence[Source],
    root: Path,
    target: Mapping[str, str],
    rules: Sequence[Rule | Listed],
    keep_runs: bool = False,
    launch: Launch | None = None,
    jobs: int = 1,
    memory: str | dict[str, str] = "",
    like: Analysis | None = None,
    observed: Observed | None = None,
    look: Look | None = None,
) -> Analysis:
    """Walk every program of the given files and ask the rules.

    Files that the programs import are followed below `root`; nothing is executed. Findings are unique by
    place and code, in order. `keep_runs` keeps the runs with all their events, for recipes; of an analysis that is
    `like` this one but for some texts, with the same rules, the walks that read none of them are taken. With a
    `launch` only its program is walked, as that command starts it, along the way that it took where that was
    `observed`. With several `jobs` a long analysis is divided
    among as many processes. With a `memory`, a directory or texts that this process passes on, a walk is made again
    only where something that it depends on has changed. What is found is the same. A `look` is told what stands in its
    place.
    """
    inquiry = Inquiry(Project(root, sources), target, rules, keep_runs, observed, look)
    runs: list[Run] = []
    again = KeptRuns(inquiry, runs, like.walks if like is not None else {}) if keep_runs else None
    programs = _Programs(inquiry, runs, jobs, again or (Memory(inquiry, memory) if memory != "" else None))
    try:
        if launch is not None:
            task = Task(os.path.realpath(launch.program), Entry(launch, launch.function))
            texts = [
                *launch.arguments,
                *(text for setting in launch.environment for text in (setting.name, setting.value)),
            ]
            inquiry.reach.words.take_from_outside([task.path], texts)
            programs.walk_all([task], "programs")
        else:
            programs.of()
        programs.configurations([source for source in sources if source.kind in CONFIGURATION_KINDS])
    finally:
        programs.end()

    def for_other(walks: Collection[Wanted], other: Mapping[str, str]) -> Iterable[Finding]:
        codes = {sought.code for wanted in walks for sought in wanted.until}
        asking = [rule for rule in rules if rule.code in codes]
        inquiry = Inquiry(Project(root, sources), {**target, **other}, asking)
        older = _Programs(inquiry, [], memory=Memory(inquiry, memory) if memory != "" else None)
        try:
            older.these(walks, programs.reach.learnt)
        finally:
            older.end()
        return older.found.values()

    made = programs.result()
    if again is not None:
        made.walks = again.walks
    else:
        made.findings = said(made.findings, programs.origins, for_other, len(sources) <= FEW_SOURCES)
    return made


class _Programs:
    """The programs of a project, walked in order, and all that came of it; the `runs` of those that are kept."""

    def __init__(self, inquiry: Inquiry, runs: list[Run], jobs: int = 1, memory: Memory | KeptRuns | None = None):
        self.inquiry = inquiry
        self.runs = runs
        self.memory = memory
        self.project, self.reach, self.entries = inquiry.project, inquiry.reach, inquiry.entries
        self.jobs = jobs
        self.forks: Forks[Wanted, Walked] | None = None
        self.began = monotonic()
        self.found: dict[Key, Finding] = {}
        self.cut: dict[str, Finding] = {}
        self.left_out: list[Launch] = []
        self.opened: dict[str, Task] = {}
        self.problems: dict[Problem, None] = {}
        self.files: dict[str, Entered] = {}
        self.origins = Origins()
        self.steps = self.waiting = 0

    @cached_property
    def walker(self) -> Walker:
        """What walks them, loaded when the first is walked: often all that came of them is remembered."""
        with stage("import of the analysis"):
            from .walker import Walker
        return Walker(self.inquiry, self.runs)

    def these(self, walks: Collection[Wanted], learnt: Learnt) -> None:
        """Make walks that were made before, for other releases: through all that led to a finding of any rule then."""
        self.reach.recall([wanted.task.path for wanted in walks], learnt)
        for wanted in walks:
            self._take(wanted, self._walked(wanted))

    def _learn(self, paths: Iterable[str]) -> None:
        with stage("gate: reach"):
            (self.memory or self.reach).learn(list(paths))
            self.reach.forget()

    def of(self) -> None:
        """Walk the entries, then whatever no entry reached."""
        paths = [path for path, source in self.project.sources.items() if source.kind in ENTRY_KINDS]
        self._learn(paths)
        entries = {path: self.entries.of(path) for path in paths}
        first = sorted(
            paths, key=lambda path: (not entries[path], not any(each.launch for each in entries[path]), path)
        )
        started = [[each for each in entries[path] if self.reach.started(path, each.function)] for path in first]
        each_once = [Task(path, held[0]) for path, held in zip(first, started, strict=True) if held]
        further = [
            Task(path, each, each.launch is not None)
            for path, held in zip(first, started, strict=True)
            for each in held[1:]
        ]
        self.walk_all([*each_once, *further], "programs")
        self.walk_all(list(self.opened.values()), "programs")
        imported = set(self.files)
        waiting = [path for path in first if not entries[path] and path not in imported]
        self.walk_all([Task(path, Entry(acting=True)) for path in waiting if self._acts(path)], "programs")
        beside = self._has_programs({path: held for path, held in entries.items() if not path.endswith(SETUP)})
        if beside:
            self.reach.heed_uses()
            self._end_forks()  # which know nothing of it
        looked_into = {file for path in paths if self.reach.looks_up(path) for file in self.reach.looked_into(path)}
        rest = [
            Task(path, None, beside=beside and path not in looked_into, among=beside)
            for path in paths
            if self.reach.anything_in(path)
        ]
        self.walk_all(rest, "modules")

    def walk_all(self, tasks: Sequence[Task], what: str) -> None:
        """Make these walks in order, in forks once they have taken long."""
        waiting = deque(tasks)
        while waiting:
            self.waiting = len(waiting)
            tell(what, len(tasks) - len(waiting), len(tasks), waiting[0].path)
            if self._pays(len(waiting)):
                try:
                    self.forks = self.forks or self._forked()
                    self._walk_in(self.forks, waiting, what, len(tasks))
                except Lost:
                    self._end_forks()
                    self.jobs = 1
                continue
            wanted = self._wanted(waiting.popleft())
            self._take(wanted, self._walked(wanted))

    def _forked(self) -> Forks[Wanted, Walked]:
        _ = self.walker  # loaded here, for all of them
        return Forks(self._walked, self.jobs)

    def end(self) -> None:
        """End the forks, if there are any, and save what is remembered."""
        self._end_forks()
        if self.memory is not None:
            self.memory.save()

    def _end_forks(self) -> None:
        if self.forks is not None:
            self.forks.end()
            self.forks = None

    def _pays(self, left: int) -> bool:
        long = left > 1 and monotonic() - self.began > SECONDS_ALONE
        return self.jobs > 1 and (long or self.forks is not None)

    def _walked(self, wanted: Wanted) -> Walked:
        recalled = self.memory.recall(wanted) if self.memory is not None else None
        return recalled or self.walker.walk(wanted)

    def _walk_in(self, forks: Forks[Wanted, Walked], waiting: deque[Task], what: str, total: int) -> None:
        """Make the walks in forks; one of which earlier walks changed what there is to do meanwhile is made again."""
        questions = [partial(self._wanted, task) for task in waiting]
        for asked, made in forks.answers(questions):
            self.waiting = len(waiting)
            now = self._wanted(asked.task)
            self._take(now, made if asked.comes_to(now, made.steps) else self.walker.walk(now))
            waiting.popleft()
            tell(what, total - len(waiting), total, waiting[0].path if waiting else "")

    def _wanted(self, task: Task) -> Wanted:
        steps = steps_left(self.steps, task.further, self.waiting) if task.entry is not None else 0
        return Wanted(task, self.files.get(task.path), steps)

    def _take(self, wanted: Wanted, made: Walked) -> None:
        if self.memory is not None:
            self.memory.keep(wanted, made)
        entry = wanted.task.entry
        if entry is not None and entry.launch is not None and not entry.opened:
            if not wanted.steps:
                self.left_out.append(entry.launch)
            elif made.leaves_out:
                self.opened.setdefault(made.path, Task(made.path, with_more_options(entry.launch), further=True))
        self.origins.keep_its_end(made.found.values(), wanted)
        for finding in self._add(made):
            self.origins.remember(finding, wanted, made.targets)

    def _add(self, made: Walked) -> list[Finding]:
        """Add what came of a walk; returns those of its findings that are kept."""
        self.steps += made.steps
        kept = [finding for finding in made.found.values() if keep(self.found, finding)]
        if made.cut is not None:
            self.cut.setdefault(made.path, made.cut)
        self.problems |= made.problems
        self.project.broken |= made.broken
        for path, entered in made.files.items():
            self.files[path] = self.files.get(path, Entered()) | entered
        return kept

    def _has_programs(self, entries: Mapping[str, Sequence[Entry]]) -> bool:
        return any(self._does_something(*held) for held in entries.items()) or self._any_runs(entries)

    def _does_something(self, path: str, entries: Sequence[Entry]) -> bool:
        """Whether one of the ways in which a file is started does more than to define what nothing calls."""
        outline = self.project.outline(path) if entries else None
        called = any(entry.function for entry in entries)
        return called or (outline is not None and outline.runs)

    def _any_runs(self, paths: Iterable[str]) -> bool:
        """Whether one of the files that no other imports is a program without saying so."""
        own = [path for path in paths if not self.reach.mentions.is_alone(path)]
        imported = {file for path in own for file in self.reach.mentions.files(path)}
        outlines = (self.project.outline(path) for path in own if path not in imported)
        return any(outline is not None and outline.runs for outline in outlines)

    def _acts(self, path: str) -> bool:
        """Whether a file that nothing starts is a program all the same, by what its top level does; one that imports
        from its own package is started as a module of it.
        """
        acting = self.reach.learnt.acting
        if self.reach.started(path) and path not in acting:
            outline = self.project.outline(path)
            acting[path] = outline is not None and (
                self.reach.matters(path) or not self.project.deferral.is_quiet(path)
            )
        return acting.get(path, False)

    def configurations(self, sources: Sequence[Source]) -> None:
        """Ask the rules about configuration files by themselves, whatever reads them."""
        asking = [rule for rule in self.inquiry.rules if rule.asks_of_files]
        words = [spelled(word).encode() for rule in asking for choice in rule.words[:1] for word in choice]
        for source in sources:
            if len(source.data) > MAX_BYTES or not any(word in source.data for word in words):
                continue
            wanted = self._wanted(Task(os.path.realpath(source.absolute), None))
            made = self._walked(wanted)
            if self.memory is not None:
                self.memory.keep(wanted, made)
            self._add(made)

    def result(self) -> Analysis:
        """Findings in order, and the files that do not parse among the problems."""
        for path, (message, line, column) in sorted(self.project.broken.items()):
            place = Location(path, line, column, line, column)
            finding = Finding("GCL000", "unreadable-file", f"not valid Python: {message}", place, "fails")
            self.found[finding.key] = finding
        found = [*self.found.values(), *self.cut.values(), *launches_left_out(self.left_out)]
        ordered = sorted(found, key=lambda finding: (*finding.key, finding.message))
        return Analysis(ordered, list(self.problems), self.runs)
