"""Programs: the entry points of a project, each walked as the run it starts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import libcst as cst

from gclint.files.source import Source
from gclint.launch import Launch

from ..failures import Problem, failure
from ..files.gate import IDENTIFIER, spelled
from ..finding import Finding, Location
from ..frameworks.registry import Library, load_library
from ..rule import Question, Rule
from ..timing import stage
from .allowed import Origins, said
from .bounds import judged_in_part
from .calls import Call
from .configs import MAX_BYTES, DocumentError, read_document
from .deferral import Deferral
from .entries import Entries, Entry, assumed, call_function
from .events import ConfigurationRead, Event, Moment, RunEnded
from .interpreter import Frame, Interpreter
from .invocation import instantiate
from .project import Project, shown
from .reach import Reach
from .resolve import inserted_paths
from .run import Run
from .syntax import Module, Site
from .values import Alternative, Class, Function, Partial, Scope, const, of
from .versions import targets_for

MANY_MODULES = 40
STEPS_PER_DEFINITION = 10_000
CALLS_PER_DEFINITION = 6
ENTRY_KINDS = ("python", "notebook")
CONFIGURATION_KINDS = ("yaml", "json")


@dataclass
class Analysis:
    """What the rules found, and what could not be judged."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)


def analyse(
    sources: Sequence[Source],
    root: Path,
    target: Mapping[str, str],
    rules: Sequence[Rule],
    keep_runs: bool = False,
    launch: Launch | None = None,
) -> Analysis:
    """Walk every program of the given files and ask the rules.

    Files that the programs import are followed below `root`; nothing is executed. Findings are unique by
    place and code, in order. `keep_runs` keeps the runs with all their events, for recipes. With a
    `launch` only its program is walked, as that command starts it.
    """
    with stage("import of the frameworks"):
        library = load_library()
    walk = _Walk(Project(root, sources), library, target, rules, keep_runs)
    if launch is not None:
        walk.walk_launch(launch)
    else:
        walk.programs([source for source in sources if source.kind in ENTRY_KINDS])
    walk.configurations([source for source in sources if source.kind in CONFIGURATION_KINDS])

    def again(entries: set[str], other: Mapping[str, str]) -> Iterable[Finding]:
        older = _Walk(Project(root, sources), walk.library, {**target, **other}, rules)
        older.programs([source for source in sources if os.path.realpath(source.absolute) in entries])
        return older.found.values()

    made = walk.result()
    made.findings = said(made.findings, walk.origins, again)
    return made


class _Walk:
    def __init__(
        self,
        project: Project,
        library: Library,
        target: Mapping[str, str],
        rules: Sequence[Rule],
        keep_runs: bool = False,
    ):
        self.project = project
        self.library = library
        self.target = target
        self.rules = rules
        self.found: dict[tuple[str, int, int, str], Finding] = {}
        self.cut: dict[str, Finding] = {}
        self.problems: dict[Problem, None] = dict.fromkeys(library.problems)
        self.interpreted: set[int] = set()
        self.instantiated: set[int] = set()
        self.walked: set[str] = set()
        self.runs: list[Run] = []
        self.keep_runs = keep_runs
        self.asked: dict[type, list[tuple[Rule, Question, stage]]] = {}
        gates = [rule.words for rule in rules if not rule.listens(ConfigurationRead)]
        self.reach = Reach(project, () if keep_runs else gates)
        telling = self.reach.telling if self.reach.gated else ()
        project.deferral = Deferral(project, self.reach.mentions, telling, self.reach.names)
        self.entries = Entries(project)
        self.origins = Origins()

    def programs(self, sources: Sequence[Source]) -> None:
        """Walk the entries, then whatever no entry reached."""
        paths = [os.path.realpath(source.absolute) for source in sources]
        with stage("gate: reach"):
            self.reach.learn(paths)
        waiting = []
        entries = {path: self.entries.of(path) for path in paths}
        for path in sorted(paths, key=lambda path: (not entries[path], path)):
            for entry in entries[path]:
                if self.reach.started(path, entry.function):
                    self._walk_entry(path, entry)
            if not entries[path]:
                waiting.append(path)
        imported = set(self.walked)
        for path in waiting:
            if path not in imported and self._acts(path):
                self._walk_entry(path, Entry())
        for path in paths:
            self._going_on(path, partial(self._walk_rest, path))

    def _acts(self, path: str) -> bool:
        """Whether a file that nothing starts is a program all the same, by what its top level does. One that imports
        from its own package cannot be started.
        """
        sheet = self.project.sheet(path) if self.reach.started(path) else None
        if sheet is None or any(item.level for item in sheet.executed):
            return False
        return self.reach.matters(path) or not self.project.deferral.is_quiet(path)

    def walk_launch(self, launch: Launch) -> None:
        """Walk one program as one command starts it."""
        self._walk_entry(os.path.realpath(launch.program), Entry(launch, launch.function))

    def configurations(self, sources: Sequence[Source]) -> None:
        """Ask the rules about configuration files by themselves, whatever reads them."""
        asking = [rule for rule in self.rules if rule.listens(ConfigurationRead)]
        words = [spelled(word).encode() for rule in asking for choice in rule.words[:1] for word in choice]
        for source in sources:
            if len(source.data) > MAX_BYTES or not any(word in source.data for word in words):
                continue
            try:
                document = read_document(source.text, Path(source.path))
            except DocumentError:
                continue
            run = self._run(os.path.realpath(source.absolute), None)
            module = Module(source.path, "", cst.Module([]))
            run.emit(ConfigurationRead(Moment(Site.at(module, module.tree)), document, source))

    def _run(self, path: str, launch: Launch | None) -> Run:
        entry = Path(path)
        targets = targets_for(self.project.program_root(entry), entry, self.target)
        run = Run(targets, assumed(launch), path=path)
        run.listener = lambda event: self._listen(event, run)
        run.failures = self.problems
        if launch is not None:
            run.launch_places = (launch,)
            run.facts["arguments"] = launch.arguments
            for setting in launch.environment:
                run.environment[setting.name] = const(setting.value)
        if self.keep_runs:
            self.runs.append(run)
        return run

    def _walk_entry(self, path: str, entry: Entry) -> None:
        self._going_on(path, lambda: self._walk_program(path, entry))

    def _going_on(self, path: str, walk: Callable[[], None]) -> None:
        """Walk; where that fails, say so with the file, for the others to be walked."""
        try:
            with stage("walking"):
                walk()
        except Exception as error:
            self.problems[failure("the analysis", error, Location(shown(path), 1, 1, 1, 1))] = None

    def _walk_program(self, path: str, entry: Entry) -> None:
        self.project.enter(Path(path), inserted_paths(self.project.text(path) or ""))
        module = self.project.module(path)
        if module is None:
            return
        run = self._run(path, entry.launch)
        run.entry = module
        it = Interpreter(self.project, run, self.library)
        scope = Scope()
        it.walk_module(module, scope, module.name if entry.function else "__main__")
        if entry.function:
            call_function(it, module, scope, entry.function)
        run.emit(RunEnded(it_moment(it, module), whole=not it.stopped))
        if it.stopped:
            self.cut.setdefault(path, judged_in_part(module, it.stopped))
        self._remember(it)
        self._end(it)

    def _walk_rest(self, path: str) -> None:
        """Functions and classes of a module that no program reached: each with arguments nobody knows."""
        module = self.project.module(path) if self.reach.anything_in(path) else None
        if module is None or not (self._unreached(module) or (path not in self.walked and self.reach.matters(path))):
            return
        self.project.enter(Path(path), inserted_paths(self.project.text(path) or ""))
        run = self._run(path, next(iter(self.entries.launches(path)), None))
        run.entry = module
        it = Interpreter(self.project, run, self.library, as_library=True)
        it.interpreted, it.instantiated = set(self.interpreted), set(self.instantiated)
        scope = Scope()
        it.walk_module(module, scope, module.name)
        it.frames.append(Frame(None, module, scope))
        for name, item in self._in_order(module, scope):
            self._walk_definition(it, name, item)
        run.emit(RunEnded(it_moment(it, module), whole=not it.stopped))
        if path in self.walked or not self.reach.mentions.is_alone(path):
            self._remember(it)
        else:
            self.project.let_go(path)
        self._end(it)

    def _unreached(self, module: Module) -> bool:
        reached = self.interpreted | self.instantiated
        path = os.fspath(self.project.absolute(module))
        return any(
            id(node) not in reached and self.reach.matters(path, name) for name, node in _definitions(module.tree.body)
        )

    def _in_order(self, module: Module, scope: Scope) -> list[tuple[str, Alternative]]:
        """The module's own definitions, those that nothing in it mentions first."""
        own = [
            (name, item)
            for name, value in list(scope.names.items())
            for _, item in value
            if (held := _definition(item)) is not None
            and held.module is module
            and held.node_id not in self.interpreted
        ]
        mentioned = Counter(IDENTIFIER.findall(module.text))
        return sorted(own, key=lambda pair: mentioned[pair[0]] > 1)

    def _walk_definition(self, it: Interpreter, name: str, given: Alternative) -> None:
        item = _definition(given)
        if item is None or item.node_id in it.interpreted:
            return
        path = os.fspath(self.project.absolute(item.module))
        if not self.reach.matters(path, name):
            return
        it.steps, it.call_limit = STEPS_PER_DEFINITION, CALLS_PER_DEFINITION
        it.entered.clear()
        site = Site.at(item.module, item.node)
        call = Call(it, site, name, open=True)
        if isinstance(item, Function):
            it.call(of(given), call)
            return
        it.interpreted.add(item.node_id)
        made = instantiate(it, item, call)
        for method, held in list(item.names.items()):
            for _, part in held:
                if (
                    isinstance(part, Function)
                    and part.node_id not in it.interpreted
                    and self.reach.matters(path, f"{name}.{method}")
                ):
                    receiver = made.only()
                    bound = part.bound(receiver) if receiver is not None else part
                    it.call(of(bound), Call(it, Site.at(part.module, part.node), "method", open=True))

    def _remember(self, it: Interpreter) -> None:
        self.interpreted |= it.interpreted
        self.instantiated |= it.instantiated
        modules = list(self._modules(it))
        self.walked |= {os.path.realpath(self.project.absolute(module)) for module in modules}
        if len(self.walked) > MANY_MODULES:
            for module in modules:
                module.forget()

    def _end(self, it: Interpreter) -> None:
        if not self.keep_runs:
            it.end()

    def _modules(self, it: Interpreter) -> Iterator[Module]:
        for path in it.modules:
            if path in self.project._absolute:
                module = self.project.module(self.project._absolute[path])
                if module is not None:
                    yield module

    def _listen(self, event: Event, run: Run) -> None:
        asked = self.asked.get(type(event))
        if asked is None:
            asked = self.asked[type(event)] = [
                (rule, question, stage(f"rule {rule.code}"))
                for rule in self.rules
                for question in rule.questions_at(type(event))
            ]
        for rule, question, measured in asked:
            try:
                with measured:
                    for finding in question(event, run):
                        self.origins.remember(finding, run)
                        self._keep(finding)
            except Exception as error:
                self.problems[failure(f"rule {rule.code}", error, event.site.location())] = None

    def _keep(self, finding: Finding) -> None:
        held = self.found.get(finding.key)
        if held is None or _weight(finding) > _weight(held):
            self.found[finding.key] = finding

    def result(self) -> Analysis:
        """Findings in order, and the files that do not parse among the problems."""
        for path, (message, line, column) in sorted(self.project.broken.items()):
            place = Location(path, line, column, line, column)
            finding = Finding("GCL000", "unreadable-file", f"not valid Python: {message}", place, "fails")
            self.found[finding.key] = finding
        found = [*self.found.values(), *self.cut.values()]
        ordered = sorted(found, key=lambda finding: (*finding.key, finding.message))
        return Analysis(ordered, list(self.problems), self.runs)


def _weight(finding: Finding) -> tuple[bool, int, int]:
    return (finding.certainty == "fails", -len(finding.condition), len(finding.fixes))


def it_moment(it: Interpreter, module: Module) -> Moment:
    """The moment at which a program ends."""
    return Moment(Site.at(module, module.tree), it.guard)


def _definitions(body: Iterable[cst.CSTNode], owner: str = "") -> Iterator[tuple[str, cst.FunctionDef | cst.ClassDef]]:
    for statement in body:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            yield owner + statement.name.value, statement
        if isinstance(statement, cst.ClassDef) and not owner:
            yield from _definitions(statement.body.body, f"{statement.name.value}.")


def _definition(item: Alternative) -> Function | Class | None:
    """The project's function or class that a value is, also where some of its arguments are given already."""
    while isinstance(item, Partial):
        item = item.function
    return item if isinstance(item, (Function, Class)) else None
