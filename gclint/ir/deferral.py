"""Deferral: a module of the project whose import does nothing but bind names is walked when one of them is read.

What such an import sets off all the same, the libraries and the other modules that it imports in turn, happens at
once. Whether a module is quiet in this way is told from its text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .outline import Import, Outline

if TYPE_CHECKING:
    from .mentions import Mentions
    from .project import Project
    from .resolve import Imports


class Imported(NamedTuple):
    """What importing a file imports: libraries' modules by name, the project's by file, and how all names begin that
    are not relative.
    """

    libraries: tuple[str, ...]
    files: tuple[str, ...]
    tops: tuple[str, ...]


_OfProgram = tuple["Imports | None", dict[tuple[str, str], bool], dict[str, Imported]]
"""How a program finds modules; of names in folders whether that is otherwise than anywhere; what files import then."""


class Deferral:
    """Which modules of a project are quiet. A quiet module's top level does not call `words`, nor assigns what
    one of the project's functions or classes of these `names` gives. With no words, none is quiet. `asked` has
    what was answered.
    """

    def __init__(self, project: Project, mentions: Mentions, words: Iterable[str], names: Container[str]):
        self._project = project
        self._mentions = mentions
        self._words = frozenset(words)
        self._names = names
        self.asked: dict[str, bool] = {}
        self._quiet: dict[str, bool] = {}
        self._imported: dict[str, Imported] = {}
        self._program: _OfProgram = None, {}, {}
        self._reads: dict[str, set[str]] = {}
        self._readers: dict[str, set[str]] = {}
        self._with: dict[str, frozenset[str]] = {}

    def is_quiet(self, path: str) -> bool:
        """Whether nothing but names comes of importing a file of the project, besides what it imports itself."""
        if path not in self._quiet:
            outline = self._project.outline(path) if self._words else None
            self._quiet[path] = outline is not None and self._judged(outline) and not self._raises(path, outline)
        self.asked[path] = self._quiet[path]
        return self._quiet[path]

    def imported(self, path: str, imports: Imports) -> Imported:
        """What importing a file imports in a program that finds modules so."""
        self._project.consulted.add(path)
        if path not in self._imported:
            self._imported[path] = self._found(path, self._mentions.reads)
        if imports is not self._program[0]:
            self._program = imports, {}, {}
        _, others, found = self._program
        here = os.path.dirname(path)
        for top in self._imported[path].tops:
            if (top, here) not in others:
                everywhere = self._mentions.imports.resolve(top, 0, Path(path))
                others[top, here] = imports.resolve(top, 0, Path(path)) != everywhere
            if others[top, here]:
                if path not in found:
                    found[path] = self._found(path, lambda here, item: imports.read(item, Path(here)))
                return found[path]
        return self._imported[path]

    def _found(self, path: str, reads: Callable[[str, Import], tuple[str, str]]) -> Imported:
        libraries: dict[str, None] = {}
        files: dict[str, None] = {}
        outline = self._project.outline(path)
        executed = outline.executed if outline is not None else ()
        for item in executed:
            found = [self._project.imports.real(file) for file in reads(path, item) if file]
            files |= dict.fromkeys(found)
            if not found and item.level == 0:
                libraries[item.module] = None
        tops = dict.fromkeys(item.module.partition(".")[0] for item in executed if not item.level)
        return Imported(tuple(libraries), tuple(files), tuple(tops))

    def running_with(self, path: str, files: Sequence[str]) -> frozenset[str]:
        """The files that may run in one program with a file: what those of these files lead to that lead to it."""
        if path not in self._with:
            if not self._readers:
                for each in files:
                    for read in self._read_by(each):
                        self._readers.setdefault(read, set()).add(each)
            users = _closure([path], lambda here: self._readers.get(here, set()))
            self._with[path] = frozenset(_closure(users, self._read_by))
        self._project.consulted.update(self._with[path])
        return self._with[path]

    def is_imported(self, path: str) -> bool:
        """Whether one of the files that were asked about before imports a file."""
        return path in self._readers

    def _read_by(self, path: str) -> set[str]:
        """The project's files that the imports of a file read."""
        if path not in self._reads:
            self._project.consulted.add(path)
            outline = self._project.outline(path)
            items = [item for held in outline.imports.values() for item in held] if outline is not None else []
            real = self._project.imports.real
            found = {real(file) for item in items for file in self._mentions.reads(path, item) if file}
            self._reads[path] = found
        return self._reads[path]

    def _judged(self, outline: Outline) -> bool:
        free = self._words.isdisjoint(outline.calls) and not any(name in self._names for name in outline.assigned)
        return free and not outline.acts

    def _raises(self, path: str, outline: Outline) -> bool:
        """Whether a file imports from its own package what that does not have."""
        own = (item for item in outline.executed if item.level)
        return any(self._project.is_missing(item.module, item.level, Path(path)) for item in own)


def _closure(first: Iterable[str], following: Callable[[str], set[str]]) -> set[str]:
    """These and all that follow them."""
    seen = set(first)
    todo = list(seen)
    while todo:
        found = following(todo.pop()) - seen
        todo += found
        seen |= found
    return seen
