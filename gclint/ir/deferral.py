"""Deferral: a module of the project whose import does nothing but bind names is walked when one of them is read.

What such an import sets off all the same, the libraries and the other modules that it imports in turn, happens at
once. Whether a module is quiet in this way is told from its text.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .outline import Outline

if TYPE_CHECKING:
    from .mentions import Mentions
    from .project import Project


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
        self._imported: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
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

    def imported(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What importing a file imports: libraries' modules by name, and the project's by file."""
        self._project.consulted.add(path)
        if path not in self._imported:
            libraries: dict[str, None] = {}
            files: dict[str, None] = {}
            outline = self._project.outline(path)
            for item in outline.executed if outline is not None else ():
                found = [self._project.imports.real(file) for file in self._mentions.reads(path, item) if file]
                files |= dict.fromkeys(found)
                if not found and item.level == 0:
                    libraries[item.module] = None
            self._imported[path] = (tuple(libraries), tuple(files))
        return self._imported[path]

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
