"""The walk of one program, or of what no program reached in a file, and what came of it."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gclint.launch import Launch, is_readme
from gclint.source.source import Source, shown

from ..failures import failure
from ..finding import Location
from ..frameworks.arguments import rank_option
from ..frameworks.registry import load_library
from ..ir.configs import DocumentError, read_document
from ..ir.entries import Entry
from ..ir.gate import IDENTIFIER
from ..ir.syntax import DEFINITIONS, Definition, Module, Site
from ..rule import Question, Rule
from ..run.bounds import import_raises, judged_in_part, raises_in_every_run
from ..run.calls import Call
from ..run.events import ConfigurationRead, Event, Moment, RunEnded
from ..run.imports import ENDS_AT
from ..run.interpreter import Frame, Interpreter
from ..run.invocation import instantiate, is_filled, is_record
from ..run.jumps import RAISES_AT, Jump
from ..run.looking import Enough, LookingWalk
from ..run.run import LEFT_OUT, SHOWN, Run
from ..run.setters import leave_open
from ..run.starting import IN_ONE_PROCESS, assumed, call_function, is_collected
from ..run.values import Alternative, Class, External, Function, Partial, Scope, const, of
from ..timing import measured, stage
from .inquiry import Inquiry
from .methods import to_be_walked
from .this_run import known_of
from .walks import CONFIGURATION_KINDS, AllFound, Consulted, Entered, Sought, Task, Walked, Wanted, keep

MANY_MODULES = 40
STEPS_PER_DEFINITION = 10_000
CALLS_PER_DEFINITION = 6
OF_PYTHON = ("KeyError", "AttributeError", "TypeError", "ImportError", "ModuleNotFoundError")
MISTAKES = (*(External(f"builtins.{name}") for name in OF_PYTHON), External("argparse.ArgumentError"))


class Walker:
    """Makes the walks of an inquiry and asks its rules; where runs are kept they are added to `runs`."""

    def __init__(self, inquiry: Inquiry, runs: list[Run]):
        self.project, self.reach, self.entries = inquiry.project, inquiry.reach, inquiry.entries
        self.targets = inquiry.targets
        self.keep_runs, self.observed, self.look = inquiry.keep_runs, inquiry.observed, inquiry.look
        with stage("import of the rules"):
            self.rules = [rule.load() for rule in inquiry.rules]
        with stage("import of the frameworks"):
            self.library = load_library()
        self.runs = runs
        self._asked: dict[type, list[tuple[Rule, Question]]] = {}
        self._seen: set[str] = set()
        self._until: frozenset[Sought] = frozenset()

    def walk(self, wanted: Wanted) -> Walked:
        """Make a walk; where it raises, a problem names the file, for the others to be made."""
        task, before, steps, self._until = wanted
        made = Walked(task.path, problems=dict.fromkeys(self.library.problems))
        self.project.consulted.clear()
        self.project.deferral.asked.clear()
        try:
            with suppress(AllFound, Enough), stage("walking"):
                source = self.project.sources.get(task.path)
                if task.entry is not None:
                    self._launched(made, task.entry, steps)
                elif source is not None and source.kind in CONFIGURATION_KINDS:
                    self._configuration(made, source)
                else:
                    self._rest(made, task, before)
        except Exception as error:
            made.problems[failure("the analysis", error, Location(shown(task.path), 1, 1, 1, 1))] = None
        self._drop_what_could_not_be(made)
        made.broken = self.project.broken_among(self.project.consulted)
        made.consulted = Consulted(
            {path: self.project.digest(path) for path in self.project.consulted}, dict(self.project.deferral.asked)
        )
        return made

    def _drop_what_could_not_be(self, made: Walked) -> None:
        """Leave out what rules said of a program that does not hold their words: it was walked for another's."""
        gates = {rule.code: rule.words for rule in self.rules if not rule.asks_of_files}
        could = {
            code: code not in gates or self.reach.could_fire(gates[code], self.project.consulted)
            for code in {finding.code for finding in made.found.values()}
        }
        made.found = {key: finding for key, finding in made.found.items() if could[finding.code]}

    def _run(self, made: Walked, launch: Launch | None) -> Run:
        """A run that has just started; what the rules find of it, and what fails, is what came of that walk."""
        made.targets = self.targets(made.path)
        run = Run(made.targets, assumed(launch), path=made.path)
        run.listener = lambda event: self._listen(event, run, made)
        run.failures = made.problems
        run.commands = tuple(self.entries.commands(made.path))
        if launch is not None:
            run.launch_places = (launch,)
            run.facts["arguments"] = (*launch.arguments, *rank_option(launch, made.targets))
            run.absent = launch.lacks
            for setting in launch.environment:
                run.environment[setting.name] = const(setting.value)
        if self.keep_runs:
            self.runs.append(run)
        return run

    def _launched(self, made: Walked, entry: Entry, steps: int) -> None:
        """Walk a program as one launch starts it; where something is found in the text of that launch, the others that
        say the same of the program hold it too.
        """
        launch = entry.launch
        if not steps:
            return
        self._program(made, entry, steps)
        if launch is not None and any(each.location.path == shown(str(launch.path)) for each in made.found.values()):
            for other in entry.alike:
                self._program(made, Entry(other, other.function), max(0, steps - made.steps))

    def _program(self, made: Walked, entry: Entry, steps: int) -> None:
        path = made.path
        as_module = entry.acting or (entry.launch is None and self.project.imports_its_package(path))
        self.project.enter(Path(path), started=not as_module)
        module = self.project.module(path)
        if module is None:
            return
        run = self._run(made, entry.launch)
        run.entry, run.is_program = module, True
        it = self._interpreter(run)
        it.steps = steps
        scope = Scope()
        it.walk_module(module, scope, module.name if entry.function else "__main__")
        if entry.function and not it.is_dead:
            call_function(it, module, scope, entry.function)
        ended = any(jump.guard <= run.assumed and _is_of_a_mistake(jump) for jump in it.jumps)
        told = self.observed is None or self.observed.is_all_of(run)
        run.emit(RunEnded(it_moment(run, module), whole=told and not (it.stopped or ended)))
        if it.stopped and not entry.opened:
            made.cut = judged_in_part(module, it.stopped, steps)
        elif ENDS_AT in run.facts:
            made.cut = import_raises(*run.facts[ENDS_AT])
        elif RAISES_AT in run.facts:
            made.cut = raises_in_every_run(*run.facts[RAISES_AT])
        made.steps += min(steps, steps - it.steps) + it.aside
        made.leaves_out = made.leaves_out or LEFT_OUT in run.facts
        self._remember(made, it)

    def _interpreter(self, run: Run, as_library: bool = False) -> Interpreter:
        """What walks a program: as its text says, or along the way that it took; looked at in one place or not."""
        if self.observed is not None:
            from ..run.observed import ObservedWalk

            return ObservedWalk(self.project, run, self.library, self.observed)
        if self.look is None:
            return Interpreter(self.project, run, self.library, as_library)
        walk = LookingWalk(self.project, run, self.library, as_library)
        walk.look = self.look
        return walk

    def _rest(self, made: Walked, task: Task, before: Entered | None) -> None:
        """Functions and classes of a module that no program reached: each with arguments nobody knows."""
        path = made.path
        module = self.project.module(path) if self.reach.anything_in(path) else None
        if module is None:
            return
        functions, classes = ({id(module.definitions[place]) for place in places} for places in before or Entered())
        if not self._unreached(module, functions | classes) and (before or not self.reach.matters(path)):
            return
        self.project.enter(Path(path), started=False)
        launched = (each for each in self.entries.launches(path) if not is_readme(each.path))
        launch = next(launched, None)
        run = self._run(made, launch)
        if launch is None and is_collected(path):
            run.assumed |= IN_ONE_PROCESS
        run.entry, run.beside_programs, run.among_programs = module, task.beside, task.among
        it = self._interpreter(run, as_library=True)
        it.interpreted, it.instantiated = functions, classes
        scope = Scope()
        it.walk_module(module, scope, module.name)
        it.frames.append(Frame(None, module, scope))
        raises = ENDS_AT in run.facts  # then nothing that it defines can be had
        for name, item in _in_order(it, module, scope) if not raises else ():
            self._walk_definition(it, name, item)
        run.emit(RunEnded(it_moment(run, module), whole=not it.stopped))
        if before or not self.reach.mentions.is_alone(path):
            self._remember(made, it)
        else:
            self.project.let_go(path)
            it.end()

    def _configuration(self, made: Walked, source: Source) -> None:
        """A configuration file by itself, whatever reads it."""
        self.project.consulted.add(made.path)
        try:
            document = read_document(source.text, Path(source.path))
        except DocumentError:
            return
        module = Module(source.path, "", ast.Module([], []))
        moment = Moment(Site.at(module, module.tree))
        self._run(made, None).emit(ConfigurationRead(moment, document, source))

    def _unreached(self, module: Module, reached: set[int]) -> bool:
        path = os.fspath(self.project.absolute(module))
        return any(
            id(node) not in reached and self.reach.matters(path, name) for name, node in _definitions(module.tree.body)
        )

    def _walk_definition(self, it: Interpreter, name: str, given: Alternative) -> None:
        item = _definition(given)
        if item is None or item.node_id in it.interpreted or is_filled(it, item):
            return
        path = os.fspath(self.project.absolute(item.module))
        if not self.reach.matters(path, name):
            return
        it.steps, it.call_limit = STEPS_PER_DEFINITION, CALLS_PER_DEFINITION
        it.entered.clear()
        it.spent.clear()
        it.jumps.clear()
        it.contexts.clear()
        it.guard = it.run.assumed
        site = Site.at(item.module, item.node)
        call = Call(it, site, name, open=True, uncalled=True)
        shown = it.run.facts.keys() & SHOWN
        self._walk_item(it, name, given, item, call)
        for fact in SHOWN - shown:  # that one definition shows several processes says nothing of the next
            it.run.facts.pop(fact, None)

    def _walk_item(self, it: Interpreter, name: str, given: Alternative, item: Function | Class, call: Call) -> None:
        if isinstance(item, Function):
            it.call(of(given), call)
            return
        path = os.fspath(self.project.absolute(item.module))
        it.interpreted.add(item.node_id)
        built = len(it.heap)
        made = instantiate(it, item, call)
        leave_open(it, it.heap[built:])
        for _, held in to_be_walked(item, lambda method: self.reach.matters(path, f"{name}.{method}")):
            for _, part in held:
                if isinstance(part, Function) and part.node_id not in it.interpreted:
                    it.steps = STEPS_PER_DEFINITION
                    receiver = made.only()
                    bound = part.bound(receiver) if receiver is not None else part
                    place = Site.at(part.module, part.node)
                    it.call(of(bound), Call(it, place, "method", open=True, uncalled=True))

    def _remember(self, made: Walked, it: Interpreter) -> None:
        for path in it.modules:
            module = self.project.known(path)
            if module is not None:
                places = [
                    frozenset(place for place, node in enumerate(module.definitions) if id(node) in entered)
                    for entered in (it.interpreted, it.instantiated)
                ]
                made.files[self.project.imports.real(self.project.absolute(module))] = Entered(*places)
                if len(self._seen) > MANY_MODULES:
                    module.forget()
        self._seen |= made.files.keys()
        if not self.keep_runs:
            it.end()

    def _listen(self, event: Event, run: Run, made: Walked) -> None:
        asked = self._asked.get(type(event))
        if asked is None:
            asked = self._asked[type(event)] = [
                (rule, measured(f"rule {rule.code}", question))
                for rule in self.rules
                for question in rule.questions_at(type(event))
            ]
        for rule, question in asked:
            try:
                for finding in question(event, run):
                    if finding.key in run.found or finding.key not in run.impossible:
                        keep(made.found, replace(finding, this_run=known_of(event, run, rule.bears)))
            except Exception as error:
                made.problems[failure(f"rule {rule.code}", error, event.site.location())] = None
        if asked and self._until and all(any(map(each.is_told, made.found.values())) for each in self._until):
            raise AllFound


def _in_order(it: Interpreter, module: Module, scope: Scope) -> list[tuple[str, Alternative]]:
    """The module's own definitions: those that nothing in it mentions first, records after what may fill them."""
    own = [
        (name, item)
        for name, value in list(scope.names.items())
        for _, item in value
        if (held := _definition(item)) is not None and held.module is module and held.node_id not in it.interpreted
    ]
    mentioned = Counter(IDENTIFIER.findall(module.text))
    return sorted(own, key=lambda pair: (isinstance(pair[1], Class) and is_record(pair[1]), mentioned[pair[0]] > 1))


def _is_of_a_mistake(jump: Jump) -> bool:
    """Whether it is for something that is not there, such as a variable that nobody set or an option that no parser
    has, or for one that a parser has twice.
    """
    return jump.raised.only() in MISTAKES


def it_moment(run: Run, module: Module) -> Moment:
    """The moment at which a program ends, in one way or another."""
    return Moment(Site.at(module, module.tree), run.assumed)


def _definitions(body: Iterable[ast.stmt], owner: str = "") -> Iterator[tuple[str, Definition]]:
    for statement in body:
        if isinstance(statement, DEFINITIONS):
            yield owner + statement.name, statement
        if isinstance(statement, ast.ClassDef) and not owner:
            yield from _definitions(statement.body, f"{statement.name}.")


def _definition(item: Alternative) -> Function | Class | None:
    """The project's function or class that a value is, also where some of its arguments are given already."""
    while isinstance(item, Partial):
        item = item.function
    return item if isinstance(item, (Function, Class)) else None
