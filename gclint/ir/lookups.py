"""Lookups under names that no text spells out: `getattr(models, name)`, `eval(name)`; which files and which of their
definitions may be meant, going by what the names around one stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..compiled import cached, interpreted
from .index import ENTRY, LOOKS_UP, READS
from .outline import Import, Outline, Unit

if TYPE_CHECKING:
    from .mentions import Mentions
    from .project import Project

_INSIDE = re.compile(r"\b(\w+(?:\.\w+)+)\.__dict__\[|\bgetattr\(\s*(\w+(?:\.\w+)+)\s*,")
_ATTRIBUTE_OF = re.compile(
    r"\bgetattr\(\s*(\w+)[^,]*,\s*(?!r?['\"][^'\"]*['\"]\s*[,)])|\b(\w+)\.__dict__\[\s*(?!r?['\"][^'\"]*['\"]\s*\])"
)
_OBJECTS = frozenset(("self", "cls", "importlib", "import_module"))
"""What is no module that a name in the code stands for: an object of the class around, or one by a computed name."""
_MADE_MODULES = re.compile(r"\b(import_module|__import__|sys\.modules)\b")
"""What gives a module that no import of the file binds."""
_SPELLED_OUT = re.compile(r"\bimport_module\(\s*['\"]([\w.]+)['\"]\s*\)")


@interpreted
class Lookups:
    """What the files at `paths` (absolute ones) may look up so."""

    def __init__(self, project: Project, mentions: Mentions, paths: Sequence[str]):
        self._project = project
        self._mentions = mentions
        self._paths = paths

    def looking(self) -> list[str]:
        """The files that look something up."""
        told = ((path, self._project.told(path)) for path in self._paths)
        return [path for path, each in told if each is not None and each.looks_up]

    @cached
    def files(self) -> frozenset[str]:
        """The files of which anything may be looked up, as of a module that the program has at hand."""
        return frozenset[str]().union(*(files for files, _ in self._found))

    @cached
    def units(self) -> frozenset[Unit]:
        """The definitions of other files that may be looked up by the names that a file imports them under."""
        return frozenset[Unit]().union(*(units for _, units in self._found))

    @cached
    def _found(self) -> list[tuple[set[str], set[Unit]]]:
        return [self._of(path) for path in self.looking()]

    def _of(self, path: str) -> tuple[set[str], set[Unit]]:
        """The same of one file."""
        outline, text = self._mentions.outline(path), self._project.text(path) or ""
        if outline is None:
            return {path}, set()
        found, units = named_inside(path, text, self._mentions), set[Unit]()
        if any(pattern.search(text) for word, pattern in LOOKS_UP.items() if word not in (READS, ENTRY)):
            files, units = self._named_in(path, outline)
            found |= {path, *self._with_imported(files)}
        for base in {match[1] or match[2] for match in _ATTRIBUTE_OF.finditer(text)} - _OBJECTS:
            items = outline.imports.get(base, ())
            if items:
                found |= self._with_imported(
                    file for item in items for file in self._mentions.reads(path, item) if file
                )
            elif "*" in outline.imports or _MADE_MODULES.search(text):
                spelled = (Import(base, module) for module in _SPELLED_OUT.findall(text))
                files = {self._mentions.reads(path, item)[0] for item in spelled} - {""}
                found |= {path, *self._mentions.files(path), *self._with_imported(files)}
            else:
                found |= self._handed_on
        return found, units

    def _named_in(self, path: str, outline: Outline) -> tuple[set[str], set[Unit]]:
        """The files of the modules that the imports of a file bind, and the definitions."""
        names = outline.imports.keys() - {"*"}
        targets = [target for name in names for target in self._mentions.targets(path, name)]
        stars = outline.imports.get("*", ())
        files = {file for item in stars for file in self._mentions.reads(path, item) if file}
        files |= {target for target in targets if isinstance(target, str)}
        return files, {target for target in targets if isinstance(target, Unit)}

    def _with_imported(self, files: Iterable[str]) -> set[str]:
        """Some files, and those that they import; of what one takes with a star, those that it imports too."""
        found, seen, waiting = set[str](), set[str](), list(files)
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            found |= {path, *self._mentions.files(path)}
            outline = self._mentions.outline(path)
            stars = outline.imports.get("*", ()) if outline is not None else ()
            waiting += (file for item in stars for file in self._mentions.reads(path, item) if file)
        return found

    @cached
    def _handed_on(self) -> set[str]:
        """The files of the modules that some file does more with than to take something of them: it may hand one to
        whoever looks something up there.
        """
        found = set[str]()
        for path in self._paths:
            outline, text = self._mentions.outline(path), self._project.text(path) or ""
            for name in outline.imports.keys() - {"*"} if outline is not None else ():
                files = {target for target in self._mentions.targets(path, name) if isinstance(target, str)}
                if files and any(
                    re.search(rf"(?<![\w.]){re.escape(name)}\b(?!\s*[.=])", line) and "import" not in line
                    for line in text.splitlines()
                ):
                    found |= files
        return self._with_imported(found)


def named_inside(path: str, text: str, mentions: Mentions) -> set[str]:
    """The files of modules that a file names inside a package, to look something up there, as of `models.backbone` in
    `models.backbone.__dict__[name]`, and what they import.
    """
    outline, found = mentions.outline(path), set[str]()
    for match in _INSIDE.finditer(text) if outline is not None else ():
        first, *inner = (match[1] or match[2]).split(".")
        for item in outline.imports.get(first, ()) if outline is not None else ():
            module = ".".join(part for part in (item.module, item.member, *inner) if part)
            file, _ = mentions.reads(path, Import(first, module, item.level))
            found |= {file, *mentions.files(file)} if file else set()
    return found
