"""Reach: which definitions can lead to a finding when they are walked for their own sake, told from texts alone.

A rule's words must all stand in what a definition leads to: in its own text, or in the functions and classes that
it mentions. And it must have a part in it: hold one of the rule's anchors, use a name bound by one, or mention a
definition that has a part. In a library that leaves a few definitions out of thousands.
"""

from __future__ import annotations

import keyword
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..files.gate import Words, admits
from .resolve import Imports
from .units import Import, Unit, imports_of

if TYPE_CHECKING:
    from .project import Project

MOST_UNITS = 600
COMMON = frozenset((*keyword.kwlist, "torch", "forward", "parameters", "to", "cuda", "float"))
BY_NAME = ("instantiate", "import_module", "__import__")
CALLED_BY_MODULES = frozenset(("__init__", "__call__", "forward", "__enter__", "__exit__"))


class Reach:
    """What leads to a finding of rules with these `gates`, among the files of a project.

    Everything does without gates, or with one that lets everything through.
    """

    def __init__(self, project: Project, gates: Iterable[Words]):
        self.gates = list(gates)
        self.gated = bool(self.gates) and all(self.gates)
        self.imports = Imports(project.root)
        self._project = project
        self._words = tuple(sorted({word for gate in self.gates for choice in gate for word in choice}))
        self._telling = [{word for choice in gate for word in choice} - COMMON for gate in self.gates]
        self.telling = frozenset().union(*self._telling)
        self._held: dict[Unit, frozenset[str]] = {}
        self._tops: dict[str, frozenset[str]] = {}
        self._closures: dict[Unit, frozenset[str]] = {}
        self._parts: dict[Unit, frozenset[int]] = {}
        self._anchored: dict[tuple[str, int], frozenset[str]] = {}
        self._mentioned: dict[Unit, tuple[Unit, ...]] = {}
        self._read: dict[tuple[str, Import], tuple[str, str]] = {}
        self.leading: dict[str, set[str]] = {}

    def learn(self, paths: Sequence[str]) -> None:
        """Work out which units of the files lead to a finding, also through one another."""
        for path in paths if self.gated else ():
            for unit in self._candidates(path):
                self._note(unit, self._own(unit))
        grown = self.gated
        while grown:
            grown = False
            for path in paths:
                if self._may_mention(path):
                    for unit in self._units(path):
                        grown |= self._note(unit, self._led(unit))

    def matters(self, path: str, name: str = "") -> bool:
        """Whether walking the function, class or method (`Class.method`) of a file can make a finding; without a
        name, its top level.
        """
        return not self.gated or name in self.leading.get(path, ())

    def started(self, path: str, function: str = "") -> bool:
        """Whether a program that starts with the file, or with a function of it, can make a finding."""
        sheet = self._project.sheet(path)
        if not self.gated or sheet is None:
            return not self.gated
        text = self._project.text(path) or ""
        if any(word in text for word in BY_NAME) or self._project.is_notebook(path):
            return True
        units = [sheet.module, *self._named(path, function, None)] if function else [sheet.module]
        return any(self._leads(unit) for unit in units)

    def anything_in(self, path: str) -> bool:
        """Whether anything that a file defines matters."""
        return not self.gated or path in self.leading

    # Parts in a finding

    def _candidates(self, path: str) -> Iterator[Unit]:
        source = self._project.sources.get(path)
        if source is not None and any(any(word in source.text for word in gate[0]) for gate in self.gates):
            yield from self._units(path)

    def _units(self, path: str) -> Iterator[Unit]:
        sheet = self._project.sheet(path)
        if sheet is not None:
            yield sheet.module
        for unit in [unit for held in (sheet.units.values() if sheet else ()) for unit in held]:
            yield unit
            yield from unit.methods.values()

    def _note(self, unit: Unit, rules: Iterable[int]) -> bool:
        """Keep that a unit has a part in these rules' findings; whether that is new."""
        held = self._parts.get(unit, frozenset())
        new = frozenset(rule for rule in rules if rule not in held and self._satisfies(unit, rule))
        if new:
            self._parts[unit] = held | new
            self.leading.setdefault(unit.path, set()).add(unit.name)
        return bool(new)

    def _own(self, unit: Unit) -> Iterator[int]:
        words = self._words_of(unit)
        for rule, gate in enumerate(self.gates):
            if not words.isdisjoint(gate[0]) or not unit.identifiers.isdisjoint(self._bound(unit.path, rule)):
                yield rule

    def _led(self, unit: Unit) -> set[int]:
        """The rules in which a unit has a part by what it mentions: with a word of its own, or as a root."""
        found = {rule for other in self._called(unit) for rule in self._parts.get(other, ())}
        if found and self._is_root(unit):
            return found
        return {rule for rule in found if not unit.identifiers.isdisjoint(self._telling[rule])}

    def _is_root(self, unit: Unit) -> bool:
        """Whether nothing mentions a function or a class, which is no project class's child either."""
        if not unit.defines or unit.name in self._taken:
            return False
        sheet = self._project.sheet(unit.path)
        others = [other for held in (sheet.units.values() if sheet else ()) for other in held if other is not unit]
        if sheet is None or any(unit.name in other.identifiers for other in (*others, sheet.module)):
            return False
        bases = Unit(unit.path, "", unit.bases).identifiers
        return not any(True for name in bases for _ in self._named(unit.path, name, None))

    @cached_property
    def _taken(self) -> frozenset[str]:
        """The names that some import takes of a module of the project."""
        sheets = [self._project.sheet(path) for path in self._project.sources]
        held = [items for sheet in sheets if sheet is not None for items in sheet.imports.values()]
        return frozenset(item.member for items in held for item in items)

    def _bound(self, path: str, rule: int) -> frozenset[str]:
        """The names that a file's top level binds with one of the rule's anchors."""
        if (path, rule) not in self._anchored:
            sheet, found = self._project.sheet(path), set[str]()
            for statement in sheet.statements if sheet else ():
                if any(word in statement for word in self.gates[rule][0]):
                    found |= {item.name for item in imports_of(statement)}
            self._anchored[path, rule] = frozenset(found)
        return self._anchored[path, rule]

    def _may_mention(self, path: str) -> bool:
        if path in self.leading:
            return True
        sheet = self._project.sheet(path)
        items = [item for held in (sheet.imports.values() if sheet else ()) for item in held]
        return any(unit.path in self.leading for item in items for unit in self._imported(path, item, None))

    # What a unit leads to

    def _satisfies(self, unit: Unit, rule: int) -> bool:
        return admits(self._closure(unit.owner or unit), self.gates[rule])

    def _leads(self, unit: Unit) -> bool:
        """Whether a unit leads to one that has a part in findings of a rule whose words it leads to as well."""
        words = self._closure(unit)
        rules = {rule for other in self._reached(unit) for rule in self._parts.get(other, ())}
        return any(admits(words, self.gates[rule]) for rule in rules)

    def _reached(self, unit: Unit) -> tuple[Unit, ...]:
        seen, todo = {unit: None}, [unit]
        while todo and len(seen) < MOST_UNITS:
            fresh = [other for other in self._mentions(todo.pop()) if other not in seen]
            seen.update(dict.fromkeys(fresh))
            todo += fresh
        return tuple(seen)

    def _closure(self, unit: Unit) -> frozenset[str]:
        """The words of everything that a unit leads to; all of them where that is too much to follow."""
        if unit not in self._closures:
            reached = self._reached(unit)
            found = [self._words_of(one) | self._top_words(one.path) for one in reached]
            everything = len(reached) >= MOST_UNITS
            self._closures[unit] = frozenset(self._words) if everything else frozenset().union(*found)
        return self._closures[unit]

    def _mentions(self, unit: Unit) -> tuple[Unit, ...]:
        """All that runs because of a unit, as far as names tell: what it calls, and what decorates it."""
        if not unit.name:
            return (*self._called(unit), *self._decorated(unit.path))
        decorators = Unit(unit.path, unit.name, unit.decorators)
        return (*self._called(unit), *(self._called(decorators) if unit.decorators else ()))

    def _decorated(self, path: str) -> Iterator[Unit]:
        """The units of a file that their decorators may hand to whoever calls them."""
        sheet = self._project.sheet(path)
        for units in sheet.units.values() if sheet is not None else ():
            yield from (unit for unit in units if unit.decorators)

    def _called(self, unit: Unit) -> tuple[Unit, ...]:
        if unit not in self._mentioned:
            found = dict.fromkeys(
                other for name in sorted(unit.identifiers) for other in self._named(unit.path, name, unit)
            )
            if unit.owner is not None:
                siblings = unit.owner.methods
                found |= dict.fromkeys(siblings[name] for name in sorted(unit.identifiers & siblings.keys()))
            found |= dict.fromkeys(self._inherited(unit))
            found.pop(unit, None)
            self._mentioned[unit] = tuple(found)
        return self._mentioned[unit]

    def _named(self, path: str, name: str, by: Unit | None, depth: int = 0) -> Iterator[Unit]:
        sheet = self._project.sheet(path)
        if sheet is None or depth > 8:
            return
        yield from sheet.units.get(name, ())
        for item in (*sheet.imports.get(name, ()), *sheet.imports.get("*", ())):
            wanted = name if item.member == "*" else item.member
            yield from self._imported(path, item, by, wanted or None, depth)

    def _imported(
        self, path: str, item: Import, by: Unit | None, wanted: str | None = None, depth: int = 0
    ) -> Iterator[Unit]:
        """The units that an imported name stands for: of a module, those that the unit `by` mentions too."""
        file, submodule = self._files(path, item)
        if submodule:
            yield from self._of_module(submodule, by)
        if not file:
            return
        wanted = wanted or (item.member if item.member != "*" else "")
        if wanted:
            yield from self._named(file, wanted, by, depth + 1)
        elif not item.member:
            yield from self._of_module(file, by)

    def _files(self, path: str, item: Import) -> tuple[str, str]:
        """The file that an import reads, and that of the submodule it takes; "" for none."""
        if (path, item) not in self._read:
            importer = Path(path)
            file = self.imports.resolve(item.module, item.level, importer) if item.module or item.level else None
            inner = None
            if file is not None and item.member not in ("", "*"):
                inner = self.imports.member(item.module, item.level, item.member, importer)
            self._read[path, item] = (_python(file), _python(inner))
        return self._read[path, item]

    def _of_module(self, path: str, by: Unit | None) -> Iterator[Unit]:
        sheet = self._project.sheet(path)
        for name, units in sheet.units.items() if sheet else ():
            if by is None or name in by.identifiers:
                yield from units

    def _inherited(self, unit: Unit) -> Iterator[Unit]:
        """The methods that a class has of its bases, as far as it calls them or every module does."""
        seen: set[Unit] = set()
        todo = [unit.owner or unit]
        while todo:
            one = todo.pop()
            for name in Unit(one.path, "", one.bases).identifiers:
                for base in self._named(one.path, name, None):
                    if base not in seen and base.bases:
                        seen.add(base)
                        todo.append(base)
                        wanted = (unit.identifiers | CALLED_BY_MODULES) & base.methods.keys()
                        yield from (base.methods[method] for method in sorted(wanted))

    # Texts

    def _words_of(self, unit: Unit) -> frozenset[str]:
        if unit not in self._held:
            self._held[unit] = frozenset(word for word in self._words if word in unit.text or word in unit.decorators)
        return self._held[unit]

    def _top_words(self, path: str) -> frozenset[str]:
        if path not in self._tops:
            sheet = self._project.sheet(path)
            text = "".join(sheet.statements) if sheet is not None else ""
            self._tops[path] = frozenset(word for word in self._words if word in text)
        return self._tops[path]


def _python(path: Path | None) -> str:
    return os.fspath(path) if path is not None and path.suffix == ".py" else ""
