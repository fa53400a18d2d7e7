"""A run that was observed: the same walk, along the way that the program took.

Derived and observed runs are one abstraction with two sources. A derived run knows what the text and its launch tell,
and keeps open what they leave open. Of an observed one the workers have recorded, for each place in the text, whether
it was come to, which way each condition went and which plain value stood there (`gclint.rehearse.observe.marks`):
what was never come to does not happen in it, a condition that always went one way is decided, and a value that nobody
knew is the one that it had. Rules listen to its events as to any other's.
"""

from __future__ import annotations

import ast
import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..ir.marked import is_marked
from .guards import Guard
from .interpreter import Interpreter
from .parts_of_guards import everything, is_read
from .recorded import kind_of
from .values import Alternative, Const, External, Object, Value, of, root

if TYPE_CHECKING:
    from ..frameworks.registry import Library
    from ..ir.project import Project
    from ..ir.syntax import Module
    from .run import Run

OPEN = ("unknown", "option")
OF_THE_PROGRAM = (*OPEN, "instance", "list", "dict", "tuple")
Happened = tuple[str, str, int]


@dataclass(frozen=True)
class Came:
    """That a statement was come to: the optimizer steps taken when it was first, and the ranks that came to it."""

    step: int
    ranks: tuple[int, ...]


@dataclass
class Observed:
    """What all ranks recorded of a program whose files lie below `root`.

    `marks` has by rank and file what `Marks.told` gives. `happened` are recorded events: kind, file and line. A run
    that was not `whole` was cut, so that what it never did cannot be told; without `numbers` those that it worked with
    are not the program's own.
    """

    root: str
    marks: Sequence[Mapping[str, Mapping[str, Any]]]
    happened: Collection[Happened] = ()
    whole: bool = True
    numbers: bool = True
    _numbers: dict[str, dict[ast.AST, int]] = field(default_factory=dict, repr=False)
    met: set[str] = field(default_factory=set, repr=False)

    def came(self, path: str, number: int) -> Came | None:
        """When and where a statement was come to; None where it never was."""
        held = [(rank, told) for rank, told in self._of(path, "at", number)]
        return Came(min(each[0] for _, each in held), tuple(rank for rank, _ in held)) if held else None

    def number(self, path: str, module: Module, node: ast.AST) -> int | None:
        """The number of a node of a file that was marked."""
        if not any(path in files for files in self.marks):
            return None
        if path not in self._numbers:
            self._numbers[path] = {each: number for number, each in enumerate(ast.walk(module.tree))}
        return self._numbers[path].get(node)

    def came_to(self, path: str, line: int) -> Came | None:
        """The same of the innermost statement on a line of a file, after the walk; None where there is none."""
        there = [
            (node.lineno, -(node.end_lineno or 0), number)
            for node, number in self._numbers.get(path, {}).items()
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0) and is_marked(node)
        ]
        return self.came(path, max(there)[2]) if there else None

    def value(self, path: str, number: int) -> Alternative | None:
        """The plain value that stood there whenever it was asked for, on every rank."""
        held = [told for _, told in self._of(path, "values", number)]
        if not held or any(type(each) is not type(held[0]) or each != held[0] for each in held[1:]):
            return None
        if self.varies(path, number):
            return None
        return External(held[0]["name"]) if isinstance(held[0], dict) else Const(held[0])

    def varies(self, path: str, number: int) -> bool:
        """Whether a condition was both met and not met."""
        told = {each for _, each in self._of(path, "values", number) if isinstance(each, bool)}
        return len(told) > 1 or any(number in files.get(path, {}).get("both", ()) for files in self.marks)

    def _of(self, path: str, what: str, number: int) -> Iterator[tuple[int, Any]]:
        key = str(number)
        for rank, files in enumerate(self.marks):
            told = files.get(path, {}).get(what, {})
            if key in told:
                yield rank, told[key]

    def is_all_of(self, run: Run) -> bool:
        """Whether nothing happened that the walk knows nothing of, up to the program's own end: only then can be told
        what never happens.
        """
        known: dict[tuple[str, str], list[range]] = defaultdict(list)
        for event in run.events:
            kind = kind_of(event)
            if kind:
                place = event.site.location()
                path = os.path.relpath(os.path.realpath(place.path), self.root)
                known[kind, path].append(range(place.line, place.end_line + 1))
        return self.whole and all(
            any(line in lines for name in (kind, "trainer") for lines in known[name, path])
            for kind, path, line in self.happened
        )

    def was_met(self, guard: Guard) -> bool:
        """Whether a guard is known to have held at some time: what it leaves open is one condition that was met and
        not met.
        """
        return not guard or (
            len(guard) == 1 and all(atom.key in self.met for atom, _ in everything(guard, tacit=False))
        )


class ObservedWalk(Interpreter):
    """Walks a program along the way that it took."""

    def __init__(self, project: Project, run: Run, library: Library, observed: Observed):
        super().__init__(project, run, library)
        self.observed = observed
        self._paths: dict[str, str] = {}

    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression; what nobody knows is what stood there."""
        value = super().evaluate(node)
        if not all(isinstance(item, Object) and item.kind in OPEN for _, item in value) or not value:
            return value
        told = self._told(node)
        own = all(root(item).kind in OF_THE_PROGRAM and not item.origins for item in value.objects())
        counts = isinstance(told, Const) and isinstance(told.value, (int, float)) and not isinstance(told.value, bool)
        return of(told) if told is not None and own and (self.observed.numbers or not counts) else value

    def comes_to(self, statement: ast.stmt) -> bool:
        """Whether the run came to a statement."""
        path = self._path()
        number = self.observed.number(path, self.module, statement) if is_marked(statement) else None
        return number is None or self.observed.came(path, number) is not None

    def decided(self, node: ast.expr, ways: Sequence[tuple[Guard, bool]]) -> bool | None:
        """Whether a condition was met, where it always went one way and is on nothing that was replaced."""
        if len(ways) < 2:
            return None
        path = self._path()
        number = self.observed.number(path, self.module, node)
        if number is not None and self.observed.varies(path, number):
            self.observed.met |= {atom.key for guard, _ in ways for atom, _ in everything(guard)}
        told = self._told(node)
        read = all(is_read(guard) for guard, _ in ways)
        return told.value if read and isinstance(told, Const) and isinstance(told.value, bool) else None

    def _told(self, node: ast.expr) -> Alternative | None:
        path = self._path()
        number = self.observed.number(path, self.module, node)
        return None if number is None else self.observed.value(path, number)

    def _path(self) -> str:
        name = self.module.path
        if name not in self._paths:
            place = os.path.realpath(self.project.absolute(self.module))
            self._paths[name] = os.path.relpath(place, self.observed.root)
        return self._paths[name]
