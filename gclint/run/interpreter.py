"""The abstract interpreter: walks a program in execution order with guarded values.

Statements, expressions, conditions and calls live in modules of their own; this one holds what they share:
where the walk stands, the heap, and the bounds past which everything is unknown.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..ir.syntax import Module, Site
from . import evaluation, execution, inference, invocation
from .bounds import MAX_STEPS, STEPS_OF_IMPORTS, standing
from .events import Event, Loop, Moment
from .guards import ALWAYS, NEVER, Atom, Guard, conj, forget
from .jumps import Jump, left
from .run import no_modules, unheard
from .values import (
    NOTHING,
    OF_ELEMENT,
    Alternative,
    Deferred,
    Function,
    ModuleRef,
    Object,
    Scope,
    Value,
    assigned,
    const,
    mark_release,
    of,
)

if TYPE_CHECKING:
    from ..frameworks.registry import Library
    from ..ir.project import Project
    from .calls import Call
    from .catching import Handlers
    from .loops import Rounds
    from .run import Run

MAX_CALLS = 1_000  # of what costs nothing; what costs more is bounded by that
IMPORTS_BY_NAME = ("import_module", "__import__")
# fmt: off
NO_GRADIENT = frozenset((
    "shape", "size", "dim", "ndim", "numel", "dtype", "device", "item", "tolist", "numpy", "argmax", "argmin",
    "argsort", "long", "int", "bool", "data", "nonzero", "eq", "ne", "lt", "gt", "le", "ge", "isnan", "detach",
    "requires_grad", "is_cuda",
))
# fmt: on


@dataclass
class Frame:
    """A call in progress: its function, where it was called, what it has returned and yielded so far.

    Of a generator `on_yield` is what consumes each thing that it yields, as the body of a `for` or a `with` does;
    `is_vague` says that it yielded in a loop of which nobody knows how often. `sought` are the conditions on one
    element at which it returned from within such a loop: outside, each says that there is an element like that.
    `at_end` is what is done where it was called, once it has returned.
    """

    function: Function | None
    module: Module
    scope: Scope
    site: Site | None = None
    base: Guard = ALWAYS
    returned: list[tuple[Guard, Value]] = field(default_factory=list)
    yielded: list[tuple[Guard, Value]] = field(default_factory=list)
    is_generator: bool = False
    on_yield: Callable[[Value], None] | None = None
    is_vague: bool = False
    vague: int = 0
    sought: set[Atom] = field(default_factory=set)
    at_end: Callable[[Site], None] | None = None


class _Under:
    """The block in which an interpreter's guard is narrowed; what leaves in it does not go on after it."""

    __slots__ = ("guard", "held", "it", "mark")

    def __init__(self, it: Interpreter, guard: Guard):
        self.it = it
        self.guard = guard
        self.held = it.guard
        self.mark = len(it.jumps)

    def __enter__(self) -> bool:
        both = conj(self.held, self.guard)
        if both is None:
            return False
        self.it.guard = both
        return True

    def __exit__(self, *ignored: object) -> None:
        self.it.go_on(self.held, self.mark)


class Interpreter:
    """Walks one entry of a program; `run` is the state it builds up.

    `as_library`: what nobody is seen to start is walked; a module that it imports is walked when a name is read.
    `jumps` are the ways in which control has left a block that nothing has caught yet. `consumers` has, by the node of
    a call, what consumes each thing that a generator called there yields. `vague` counts the loops around of which
    nobody knows how often they run: their bodies are walked once. `risks` counts what may raise something for all that
    is known, `handled` is what the innermost handler handles. `aside` are the steps taken in modules that are imported,
    or walked when a name of them is read, which are counted for the project alone, `free` how many more may be; those
    in `reserve` a decorator may not take, and what it imports may. `on_imports` counts what imports were charged for.
    """

    def __init__(self, project: Project, run: Run, library: Library, as_library: bool = False):
        forget()
        self.as_library = as_library
        self.project = project
        self.run = run
        run.modules_with, run.beside_with = self.modules_with, self.beside_with
        self.library = library
        self.guard: Guard = run.assumed
        self.frames: list[Frame] = []
        self.loops: list[Loop] = []
        self.rounds: list[Rounds] = []
        self.contexts: list[Object] = []
        self.handlers: list[Handlers] = []
        self.doubted: list[Handlers] = []  # whose handlers are walked for what nobody knows to be raised
        self.forwards: list[Object] = []
        self.modules: dict[str, Scope] = {}
        self.unfinished: set[str] = set()  # of the modules those whose top level is being walked
        self.brought: set[str] = set()
        self.filling: set[Deferred] = set()
        self.interpreted: set[int] = set()
        self.instantiated: set[int] = set()
        self.decorations: dict[int, list[Object]] = {}
        self.expression_statement: ast.AST | None = None
        self.jumps: list[Jump] = []
        self.consumers: dict[int, Callable[[Value], None]] = {}
        self.vague = 0
        self.risks = 0
        self.handled: Value = NOTHING
        self.steps = MAX_STEPS
        self.aside = self.reserve = 0
        self.free = STEPS_OF_IMPORTS
        self.on_imports = 0
        self.stopped: tuple[Site, ...] = ()
        self.entered: Counter[int] = Counter()
        self.spent: Counter[int] = Counter()
        self.on_others: Counter[int] = Counter()
        self.call_limit = MAX_CALLS
        self.heap = run.heap
        self.inner: list[Scope] = []

    # The heap

    def new(self, kind: str, type_: Any = "", text: str = "", site: Site | None = None) -> Object:
        """A new object on the heap."""
        made = Object(len(self.heap) + 1, kind, type_, text, site, born=self.guard, vague=self.vague)
        self.heap.append(made)
        return made

    def unknown(self, text: str, site: Site | None = None) -> Object:
        """Something nobody knows, named by its text."""
        return self.new("unknown", "", text, site)

    def derived(self, site: Site, inputs: Sequence[Value]) -> Object:
        """Something unknown that was computed from the inputs."""
        result = self.unknown("", site)
        result.made_of = inputs
        for _, item in chain.from_iterable(inputs):
            mark_release(result, item)
        objects = [item for value in inputs for item in value.objects()]
        result.origins = frozenset().union(*(item.origins for item in objects)) if objects else frozenset()
        result.each = any((item.each and item.kind == "unknown") or OF_ELEMENT in item.state for item in objects)
        self.library.propagate(objects, result)
        return result

    def child(self, parent: Object, name: str, site: Site | None = None, each: bool = False) -> Object:
        """The unknown part of an object under a name; asked for twice, it is the same part."""
        held = parent.attributes.get(name)
        if held is not None and (known := held.objects()):
            return known[0]
        part = self.new(self.library.kind_of_part(parent), "", "", site)
        if parent.label:
            part.label = f"{parent.label}{name}" if name.startswith("[") else f"{parent.label}.{name}"
        part.parent, part.origins, part.each = parent, parent.origins, each or parent.each
        self.library.propagate([parent], part)
        inference.of_part(parent, name, part)
        if name.startswith("["):
            self.library.keep_numbers(parent, part)
        if name in NO_GRADIENT:
            for fact in ("grad", "may_grad", "foreign"):
                part.state.pop(fact, None)
        parent.attributes[name] = of(part)
        return part

    # Where the walk stands

    @property
    def frame(self) -> Frame:
        """The innermost call in progress."""
        return self.frames[-1]

    @property
    def module(self) -> Module:
        """The module whose code is being walked."""
        return self.frames[-1].module

    @property
    def scope(self) -> Scope:
        """The innermost scope."""
        return self.frames[-1].scope

    def site(self, node: ast.AST) -> Site:
        """The site of a node of the module being walked."""
        return Site(self.frames[-1].module, node, id(node))

    def moment(self, node: ast.AST | None = None, site: Site | None = None) -> Moment:
        """Where the run stands now."""
        place = site or self.site(node if node is not None else self.module.tree)
        return Moment(
            place,
            self.guard,
            tuple(frame.site for frame in self.frames if frame.site is not None),
            tuple(self.loops),
            tuple(self.contexts),
            tuple(each.site for each in self.handlers),
            tuple(self.forwards),
            self.expression_statement is not place.node,
            self.vague,
        )

    def emit(self, event: Event) -> None:
        """Pass an event on to the run, unless nothing goes on here, or not all of it is walked."""
        if not self.is_dead and not any(rounds.is_incomplete for rounds in self.rounds):
            self.run.emit(event)

    def within(self, parent: Scope, names: dict[str, Value], is_class: bool = False) -> Scope:
        """The scope of a call or of a class's body."""
        made = Scope(names, parent, is_class)
        self.inner.append(made)
        return made

    def under(self, guard: Guard) -> _Under:
        """Walk under a further guard: a `with` block whose value is whether that is possible."""
        return _Under(self, guard)

    @property
    def is_dead(self) -> bool:
        """Whether nothing goes on here: control has left, whatever holds."""
        return self.guard is NEVER

    def go_on(self, held: Guard, mark: int = 0) -> None:
        """Go on under a guard that held before, where none of the jumps since the mark was made."""
        self.guard = left(held, self.jumps[mark:])

    # Names

    def bind(self, name: str, value: Value, target: ast.expr | None = None) -> None:
        """Assign to a name, under the current guard; to what is written as `target`, where it is written."""
        home = self.scope.home(name)
        base = self.frame.base
        home.names[name] = assigned(
            self.guard - base if home is self.scope else self.guard - self.run.assumed, value, home.names.get(name)
        )

    def end(self) -> None:
        """Let go of what the walk built up, which refers to itself in circles."""
        for scope in (*self.modules.values(), *self.inner):
            scope.names.clear()
        for item in self.heap:
            item.let_go()
        self.run.let_go()
        self.run.listener, self.run.modules_with, self.run.beside_with = unheard, no_modules, no_modules

    # The walk

    def evaluate(self, node: ast.expr) -> Value:
        """The abstract value of an expression, under the current guard."""
        self.steps -= 1
        if self.steps < 0:
            self.stopped = self.stopped or standing(self, node)
            return of(self.unknown(""))
        if self.guard is NEVER:
            return NOTHING
        return evaluation.evaluate(self, node)

    def execute(self, body: Sequence[ast.stmt]) -> None:
        """Walk statements; the guard is what is left of it where control goes on after them."""
        execution.execute(self, body)

    def comes_to(self, statement: ast.stmt) -> bool:
        """Whether control that goes on comes to a statement: an observed run may have ended before it."""
        return True

    def decided(self, node: ast.expr, ways: Sequence[tuple[Guard, bool]]) -> bool | None:
        """Whether a condition that may go several ways is met: what an observed run tells, None where nothing does."""
        return None

    def call(self, function: Value, call: Call) -> Value:
        """Call whatever a value can be."""
        return invocation.invoke(self, function, call)

    def call_alternative(self, item: Alternative, call: Call) -> Value:
        """Call one alternative."""
        return invocation.invoke(self, of(item), call)

    # Modules of the project

    def import_module(self, path: str) -> Value:
        """A module of the project, its top level walked if it was not yet."""
        module = self.project.module(path)
        if module is None:
            return NOTHING
        self.module_scope(module)
        return of(ModuleRef(module, module.path))

    def module_scope(self, module: Module) -> Scope:
        """The names of a module of the project; walks its top level on first use."""
        if module.path in self.modules:
            return self.modules[module.path]
        scope = Scope()
        self.modules[module.path] = scope
        entry = self.run.entry.path if self.run.entry is not None else ""
        free = 0 if self.unfinished - {entry} else self.free
        before, lent, self.reserve = self.steps, self.reserve, 0
        held = self.on_imports
        self.steps += lent + free  # a module is walked whole, whatever asks for it
        self.walk_module(module, scope, module.name)
        spent = before + lent + free - self.steps
        imported = min(free, spent)
        self.free, self.aside, spent = self.free - imported, self.aside + imported, spent - imported
        self.steps, self.reserve = before - max(0, spent - lent), max(0, lent - spent)
        self.on_imports = held + before - self.steps
        return scope

    def modules_with(self, word: str) -> Iterator[Module]:
        """The modules of the project whose text has a word, of those that the program imports, walked or not."""
        walked = [module for path in self.modules if (module := self.project.known(path)) is not None]
        yield from (module for module in walked if word in module.text)
        for path in self.brought:
            if word in (self.project.text(path) or ""):
                module = self.project.module(path)
                if module is not None and module not in walked:
                    yield module

    def beside_with(self, word: str, using: Module | None = None, *, anywhere: bool = False) -> Iterator[Module]:
        """The modules in or below the folder of the program's file whose text has a word, but those that it imports;
        with `using`, those of the project that some program of it may run which imports this module; none where that
        is the program's own file and nothing imports it. Those `anywhere` are all others of the project.
        """
        for path in self.project.beside(os.path.join(self.project.root, "")) if anywhere else self._beside(using):
            source = self.project.source(path) if path not in self.brought else None
            if source is not None and source.kind in ("python", "notebook") and word in source.text:
                module = self.project.module(path)
                if module is not None and module.path not in self.modules:
                    yield module

    def _beside(self, using: Module | None) -> Collection[str]:
        """The files in or below the folder of the program's file, or those of the project that run with what imports
        a module.
        """
        entry = self.run.entry
        if using is None:
            return self.project.beside(os.fspath(self.project.absolute(entry))) if entry is not None else []
        files = self.project.beside(os.path.join(self.project.root, ""))
        run = self.project.deferral.running_with(os.fspath(self.project.absolute(using)), files)
        if using is entry and not self.project.deferral.is_imported(os.fspath(self.project.absolute(using))):
            return []
        by_name = any(word in (self.project.text(path) or "") for path in run for word in IMPORTS_BY_NAME)
        return files if by_name else sorted(run)

    def _packages_around(self, module: Module, name: str) -> Sequence[str]:
        """The files of the packages that importing a module runs before, as starting it does where it is started as a
        module: a script that imports from its own package can only be.
        """
        imports, here = self.project.imports, self.project.absolute(module)
        if name == "__main__" and not self._imports_from_its_package(here):
            return ()
        around = [imports.resolve("", level, here) for level in range(module.name.count("."), 0, -1)]
        files = [imports.real(path) for path in around if path is not None and path != here]
        return [file for file in files if not (self.as_library and self.project.deferral.is_quiet(file))]

    def _imports_from_its_package(self, path: os.PathLike[str]) -> bool:
        outline = self.project.outline(os.fspath(path))
        return outline is not None and any(each.level for each in outline.executed)

    def _tell_where(self, module: Module, scope: Scope) -> None:
        """Give a module the name of its file, and a package that of its folder."""
        file = self.project.absolute(module)
        scope.names["__file__"] = const(file.as_posix())
        if file.name == "__init__.py" and "__path__" in module.text:
            folders = self.new("list", "", "", Site.at(module, module.tree))
            folders.items = [const(file.parent.as_posix())]
            scope.names["__path__"] = of(folders)

    def walk_module(self, module: Module, scope: Scope, name: str) -> None:
        """Walk a module's top level in its own scope, as `name`; of one that is started as a module, the packages
        around it before, and of one that is looked at by itself those that do more than bind names.
        """
        self.modules[module.path] = scope
        scope.names["__name__"] = const(name)
        self._tell_where(module, scope)
        frame = Frame(None, module, scope, None, self.guard)
        held = (self.loops, self.rounds, self.contexts, self.forwards, self.expression_statement)
        self.loops, self.rounds, self.contexts, self.forwards = [], [], [], []
        self.frames.append(frame)
        self.unfinished.add(module.path)
        try:
            if len(self.frames) == 1:
                for package in self._packages_around(module, name):
                    self.import_module(package)
            self.execute(module.tree.body)
        finally:
            self.frames.pop()
            self.unfinished.discard(module.path)
            self.loops, self.rounds, self.contexts, self.forwards, self.expression_statement = held
