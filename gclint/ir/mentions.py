"""Mentions: which units of a project a unit leads to, as far as names tell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..compiled import cached, interpreted
from .outline import Import, Outline, Unit
from .resolve import NOTHING_MORE, Imports
from .search_path import SearchPath, inserted_paths

if TYPE_CHECKING:
    from ..source.source import Source
    from .project import Project

MOST_UNITS = 600
MOST_HOPS = 8
READS_BY_NAME = frozenset(("getattr", "__dict__"))
CALLED_BY_MODULES = frozenset(("__init__", "__call__", "forward", "__enter__", "__exit__"))


@interpreted
class Mentions:
    """The graph of a project's units: who names whom, through imports, bases and decorators."""

    def __init__(self, project: Project):
        self._project = project
        self.read: set[str] = set()
        self._called: dict[Unit, tuple[Unit, ...]] = {}
        self._reached: dict[Unit, frozenset[Unit]] = {}
        self._done: dict[Unit, tuple[Unit, ...]] = {}
        self._meant: dict[tuple[str, str], tuple[Unit | str, ...]] = {}
        self._files: dict[tuple[str, Import], tuple[str, str]] = {}

    @cached
    def inserted(self) -> SearchPath:
        """The entries that any of the project's files puts on sys.path."""
        return sum(map(_inserted, self._project.sources.values()), NOTHING_MORE)

    @cached
    def imports(self) -> Imports:
        """How any program finds modules that says nothing of its own."""
        return Imports(self._project.root, None, self.inserted)

    def outline(self, path: str) -> Outline | None:
        """The outline of a file (an absolute path), which was `read` from here on; None as the project's."""
        self.read.add(path)
        return self._project.outline(path)

    def reached(self, unit: Unit) -> frozenset[Unit]:
        """All that a unit leads to, itself among it; at most about `MOST_UNITS`."""
        if unit not in self._reached:
            seen, todo = {unit}, [unit]
            while todo and len(seen) < MOST_UNITS:
                for other in self.all_of(todo.pop()):
                    if other in self._reached:
                        seen |= self._reached[other]
                    elif other not in seen:
                        seen.add(other)
                        todo.append(other)
            self._reached[unit] = frozenset(seen)
        return self._reached[unit]

    def all_of(self, unit: Unit) -> tuple[Unit, ...]:
        """All that runs because of a unit, as far as names tell: what it calls, and what decorates it."""
        if not unit.name:
            return (*self.called(unit), *self._decorated(unit.path), *self._registered(unit.path))
        return (*self.called(unit), *(self.called(unit.decorators) if unit.decorators is not None else ()))

    def _decorated(self, path: str) -> Iterator[Unit]:
        """The units of a file that their decorators may hand to whoever calls them."""
        outline = self.outline(path)
        for units in outline.units.values() if outline is not None else ():
            yield from (unit for unit in units if unit.decorators is not None)

    def _registered(self, path: str) -> Iterator[Unit]:
        """The units that importing a file registers, in the files that it imports and those that they do."""
        seen, todo = {path}, [path]
        while todo and len(seen) < MOST_UNITS:
            outline = self.outline(todo.pop())
            files = [file for item in outline.executed for file in self.reads(path, item)] if outline else []
            for file in [file for file in files if file and file not in seen]:
                seen.add(file)
                todo.append(file)
                yield from (unit for unit in self._decorated(file) if unit.is_registered)

    def called(self, unit: Unit) -> tuple[Unit, ...]:
        """What a unit's own text names, and what a method's object does before it or by itself, inherited or not."""
        if unit not in self._called:
            outline = self.outline(unit.path)
            names = outline.names if outline is not None else frozenset[str]()
            known = unit.identifiers if names is None else unit.identifiers & names
            found = dict.fromkeys(other for name in sorted(known) for other in self.named(unit.path, name, unit))
            if unit.owner is not None:
                siblings = unit.owner.methods
                found |= dict.fromkeys(siblings[name] for name in sorted(unit.identifiers.intersection(siblings)))
                found |= dict.fromkeys(self.done_by_objects(unit.owner))
            found |= dict.fromkeys(self._inherited(unit))
            found.pop(unit, None)
            self._called[unit] = tuple(found)
        return self._called[unit]

    def done_by_objects(self, owner: Unit) -> tuple[Unit, ...]:
        """The methods of a class, its own and inherited ones, that run without being named."""
        if owner not in self._done:
            own = [owner.methods[name] for name in sorted(CALLED_BY_MODULES.intersection(owner.methods))]
            inherited = [unit for unit in self._inherited(owner) if unit.last in CALLED_BY_MODULES]
            self._done[owner] = (*own, *inherited)
        return self._done[owner]

    def named(self, path: str, name: str, by: Unit | None) -> Iterator[Unit]:
        """The units that a name stands for in a file; of a module, those that `by` mentions, or all."""
        for target in self.targets(path, name):
            if isinstance(target, Unit):
                yield target
            else:
                yield from self._of_module(target, by)

    def targets(self, path: str, name: str) -> tuple[Unit | str, ...]:
        """The units, and the files of the modules, that a name may stand for in a file: through every import of it."""
        if (path, name) not in self._meant:
            found: dict[Unit | str, None] = {}
            seen = {(path, name)}
            todo = [(path, name, 0)]
            while todo:
                here, wanted, hops = todo.pop()
                outline = self.outline(here)
                if outline is None or hops > MOST_HOPS:
                    continue
                found |= dict.fromkeys(outline.units.get(wanted, ()))
                promised = [item for item in outline.promised.get(wanted, ()) if item.member != "*"]
                for item in (*outline.imports.get(wanted, ()), *outline.imports.get("*", ()), *promised):
                    file, submodule = self.reads(here, item)
                    if submodule or (file and not item.member):
                        found[submodule or file] = None
                    further = (file, wanted if item.member == "*" else item.member)
                    if all(further) and further not in seen:
                        seen.add(further)
                        todo.append((*further, hops + 1))
            self._meant[path, name] = tuple(found)
        return self._meant[path, name]

    def files(self, path: str) -> Iterator[str]:
        """The files of the project that a file imports from, wherever in it."""
        outline = self.outline(path) if not self.is_alone(path) else None
        for held in (*outline.imports.values(), *outline.promised.values()) if outline is not None else ():
            for item in held:
                yield from (file for file in self.reads(path, item) if file)

    def is_alone(self, path: str) -> bool:
        """Whether nothing that a file imports is followed: it is a described library's."""
        return self.imports.is_described(path)

    def is_own(self, path: str, item: Import) -> bool:
        """Whether an import reads a file of the project."""
        return any(self.reads(path, item))

    def reads(self, path: str, item: Import) -> tuple[str, str]:
        """The file that an import reads, and that of the submodule it takes; "" for none."""
        if (path, item) not in self._files:
            self._files[path, item] = self.imports.read(item, Path(path))
        return self._files[path, item]

    def _of_module(self, path: str, by: Unit | None) -> Iterator[Unit]:
        """The units of a module, and those it imports, that `by` mentions; all of them where it may name any. What it
        imports with a star is its own.
        """
        anything = by is None or not READS_BY_NAME.isdisjoint(by.identifiers)
        seen, todo = {path}, [path]
        while todo and len(seen) < MOST_UNITS:
            outline = self.outline(here := todo.pop())
            if outline is None:
                continue
            for name, units in outline.units.items():
                if anything or (by is not None and name in by.identifiers):
                    yield from units
            names = outline.imports.keys() if anything else by.identifiers if by is not None else ()
            for name in sorted(outline.imports.keys() & names) if by is not None else ():
                yield from (unit for unit in self.targets(here, name) if isinstance(unit, Unit))
            files = (self.reads(here, item)[0] for item in outline.imports.get("*", ()))
            fresh = [file for file in files if file and file not in seen]
            seen.update(fresh)
            todo += fresh

    def _inherited(self, unit: Unit) -> Iterator[Unit]:
        """The methods that a class has of its bases, as far as it calls them or every module does."""
        seen: set[Unit] = set()
        todo = [unit.owner or unit]
        while todo:
            one = todo.pop()
            for name in sorted(one.bases or ()):
                for base in self.named(one.path, name, None):
                    if base not in seen and base.bases is not None:
                        seen.add(base)
                        todo.append(base)
                        wanted = (unit.identifiers | CALLED_BY_MODULES).intersection(base.methods)
                        yield from (base.methods[method] for method in sorted(wanted))


def _inserted(source: Source) -> SearchPath:
    marked = "sys.path" in source.marks
    return inserted_paths(source.text, os.path.realpath(source.absolute)) if marked else NOTHING_MORE
