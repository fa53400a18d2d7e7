"""Deferral: a module of the project whose import does nothing but bind names is walked when one of them is read.

What such an import sets off all the same, the libraries and the other modules that it imports in turn, happens at
once. Whether a module is quiet in this way is told from its text.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
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
        self._led_to: dict[str, frozenset[str]] = {}

    def is_quiet(self, path: str) -> bool:
        """Whether nothing but names comes of importing a file of the project, besides what it imports itself."""
        if path not in self._quiet:
            outline = self._project.outline(path) if self._words else None
            self._quiet[path] = outline is not None and self._judged(outline)
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
                found = [os.path.realpath(file) for file in self._mentions.reads(path, item) if file]
                files |= dict.fromkeys(found)
                if not found and item.level == 0:
                    libraries[item.module] = None
            self._imported[path] = (tuple(libraries), tuple(files))
        return self._imported[path]

    def led_to(self, path: str) -> frozenset[str]:
        """The project's files that running a file may read, by its imports, those inside functions among them, and by
        the imports of these files; itself is one of them.
        """
        if path not in self._led_to:
            seen, todo = {path}, [path]
            while todo:
                here = todo.pop()
                self._project.consulted.add(here)
                outline = self._project.outline(here)
                items = [item for held in outline.imports.values() for item in held] if outline is not None else []
                found = {os.path.realpath(file) for item in items for file in self._mentions.reads(here, item) if file}
                todo += found - seen
                seen |= found
            self._led_to[path] = frozenset(seen)
        return self._led_to[path]

    def _judged(self, outline: Outline) -> bool:
        free = self._words.isdisjoint(outline.calls) and not any(name in self._names for name in outline.assigned)
        return free and not outline.acts
