"""The project: its modules, parsed on demand, and the configuration files that its code names."""

from __future__ import annotations

import ast
import os
from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gclint.source import folders
from gclint.source.cache import digest
from gclint.source.depth import too_deep
from gclint.source.folders import PROJECT_MARKS, begins_project
from gclint.source.source import Source, Unreadable, content, inside, read, real_paths, shown
from gclint.source.syntax import UNREADABLE, SyntaxFault, any_tree_of, fault_of
from gclint.source.templates import is_template
from gclint.timing import stage

from ..compiled import cached, interpreted
from .configs import DocumentError, read_document
from .deferral import Deferral
from .index import FileIndex, Index
from .mentions import Mentions
from .missing import lacking, makers, names, searches_otherwise
from .outline import Outline
from .resolve import NOTHING_MORE, Imports
from .search_path import SearchPath, inserted_paths, puts_unknown_paths

if TYPE_CHECKING:
    from .syntax import Module

ROOT_MARKS = (*PROJECT_MARKS, ".git")


@interpreted
class Project:
    """The first-party files around the files that are checked.

    Files that are not among `sources` are read from disk when an import leads to them; their findings are
    reported like any other's. `broken` lists what does not parse, by path; `consulted` has the files that were asked
    for, whether they are there or not.
    """

    def __init__(self, root: Path, sources: Iterable[Source]):
        self.root = Path(os.path.realpath(root))
        sources = tuple(sources)
        places = real_paths(source.where for source in sources)
        self.sources: dict[str, Source] = {}
        for place, source in zip(places, sources, strict=True):
            if place not in self.sources or source.where == place:  # a file goes by its own name, not by a link's
                self.sources[place] = source
        self.imports = Imports(self.root)
        self.broken: dict[str, SyntaxFault] = {}
        self.consulted: set[str] = set()
        self._digests: dict[str, str] = {}
        self._modules: dict[str, Module | None] = {}
        self._absolute: dict[str, Path] = {}
        self._data: dict[str, Any] = {}
        self._read: dict[str, Source | None] = {}
        self._started_in: Path | None = None
        self._searches_elsewhere = False
        self.index = Index()
        self._roots: dict[str, Path] = {os.fspath(self.root): self.root}
        self.deferral = Deferral(self, Mentions(self), (), ())

    def enter(self, entry: Path, started: bool = True) -> None:
        """Imports from here on are those of a program that starts with `entry`, or imports it: with what it puts on
        sys.path, and with what the modules put there that it imports.
        """
        self._started_in = entry.parent
        inserted = self._inserted_by(os.fspath(entry))
        self.imports = self.imports.of_program(entry, inserted, started)
        outline = self.outline(os.fspath(entry))
        executed = outline.executed if outline is not None else ()
        files = (self.imports.resolve(item.module, item.level, entry) for item in executed)
        imported = dict.fromkeys(os.fspath(file) for file in files if file is not None and file.suffix == ".py")
        further = sum(map(self._inserted_by, imported), NOTHING_MORE)
        told = (puts_unknown_paths(self.text(path) or "", path) for path in (os.fspath(entry), *imported))
        self._searches_elsewhere = entry.suffix == ".ipynb" or any(told)  # a notebook's path follows its folder
        if further != NOTHING_MORE:
            self.imports = self.imports.of_program(entry, inserted + further, started)

    def imports_its_package(self, path: str) -> bool:
        """Whether a file imports from the package that it stands in by its full name, and nothing beside it has that
        name: what starts it by nothing else is `python -m`, or it would not find that.
        """
        outline, top = self.outline(path), self.imports.package_of(Path(path))
        beside = self.imports.part(Path(path).parent, top) if top else None
        executed = outline.executed if outline is not None and top and beside is None else ()
        return any(not item.level and item.module.partition(".")[0] == top for item in executed)

    def _inserted_by(self, path: str) -> SearchPath:
        return inserted_paths(self.text(path) or "", path)

    def module(self, path: str) -> Module | None:
        """The module of a file (an absolute path); None when it cannot be read or parsed."""
        self.consulted.add(path)
        if path not in self._modules:
            with stage("parsing"):
                self._modules[path] = self._parse(path)
        return self._modules[path]

    def known(self, shown_path: str) -> Module | None:
        """The module of a file that was parsed, by its path as reports name it; None for any other."""
        path = self._absolute.get(shown_path)
        return self.module(os.fspath(path)) if path is not None else None

    def let_go(self, path: str) -> None:
        """Drop the module and the units of a file that nothing reads again."""
        module = self._modules.pop(path, None)
        if module is not None:
            module.forget()
        self.index.let_go(path)

    def text(self, path: str) -> str | None:
        """The Python text of a file (an absolute path); None when it cannot be read."""
        self.consulted.add(path)
        source = self._source(path)
        return source.text if source is not None else None

    def told(self, path: str) -> FileIndex | None:
        """What the text of a file (an absolute path) tells; None when it cannot be read."""
        holds_code = path in self.sources or path.endswith((".py", ".ipynb"))
        source = self._source(path) if holds_code else None
        return self.index.of(path, source) if source is not None else None

    def outline(self, path: str) -> Outline | None:
        """The outline of a file (an absolute path); None when it cannot be read."""
        told = self.told(path)
        return told.outline if told is not None else None

    def save_index(self) -> None:
        """Keep what the texts told for a later check."""
        self.index.save({**self.sources, **{path: source for path, source in self._read.items() if source is not None}})

    def digest(self, path: str) -> str:
        """What tells whether the content of a file (an absolute path) changed, or of a folder which files are checked
        in it and what else it holds; "" where the project has no file.
        """
        held = self.sources.get(path) or self._read.get(path)
        if held is not None:
            return held.digest
        if path not in self._digests:
            there = os.path.isfile(path) and inside(path, self.root)
            parts = [content(path)] if there else [*self._beside.get(path, ()), *sorted(folders.names(path))]
            self._digests[path] = digest(parts) if parts else ""
        return self._digests[path]

    @cached
    def _beside(self) -> dict[str, list[str]]:
        """The files that are checked, by the folders that they lie in or below."""
        found: dict[str, list[str]] = {}
        root = os.path.dirname(os.path.realpath(self.root))
        for path in sorted(self.sources):
            folder = os.path.dirname(path)
            while folder not in (root, os.path.dirname(folder)):
                found.setdefault(folder, []).append(path)
                folder = os.path.dirname(folder)
        return found

    def beside(self, path: str) -> list[str]:
        """The files that are checked in the folder of a file and below it (all are absolute paths)."""
        folder = os.path.dirname(path)
        self.consulted.add(folder)
        return self._beside.get(folder, [])

    def broken_among(self, paths: Iterable[str]) -> dict[str, SyntaxFault]:
        """Those of some files (absolute paths) that do not parse, by path as shown."""
        if not self.broken:
            return {}
        named = {source.path for source in map(self._source, paths) if source is not None}
        return {path: fault for path, fault in self.broken.items() if path in named}

    def source(self, path: str) -> Source | None:
        """The file at an absolute path; None when it cannot be read, or lies outside."""
        self.consulted.add(path)
        return self._source(path)

    def _source(self, path: str) -> Source | None:
        if path not in self.sources and path not in self._read:
            try:
                self._read[path] = read(path, shown(path)) if inside(path, self.root) else None
            except Unreadable:
                self._read[path] = None
        return self.sources.get(path) or self._read.get(path)

    def _parse(self, path: str) -> Module | None:
        from .syntax import Module

        if os.path.isdir(path):
            return self._keep(path, Module(os.path.relpath(path), "", ast.Module([], []), os.path.basename(path)))
        source = self._source(path)
        if source is None:
            return None
        if too_deep(source.text):
            self.broken[source.path] = SyntaxFault("nested too deeply to be parsed", 1, 1)
            return None
        try:
            tree = any_tree_of(source.text)
        except UNREADABLE as error:
            if not is_template(source.text):
                self.broken[source.path] = fault_of(error)
            return None
        return self._keep(path, Module(source.path, source.text, tree, self.imports.module_name(Path(path))))

    def _keep(self, path: str, module: Module) -> Module:
        self._absolute[module.path] = Path(path)
        return module

    def is_among(self, path: str, modules: Container[str]) -> bool:
        """Whether a file's path as shown is one of these."""
        source = self._source(path)
        return source is not None and source.path in modules

    def absolute(self, module: Module) -> Path:
        """Where a module's file lies."""
        return self._absolute[module.path]

    def spelled_out(self, name: str, level: int, importer: Module) -> tuple[str, int]:
        """The module and the dots of an import; within a described library's source its full name, without dots."""
        return self.imports.spelled_out(name, level, self.absolute(importer))

    def resolve(self, name: str, level: int, importer: Module) -> str | None:
        """The file that an import reads, None when it is not the project's."""
        found = self.imports.resolve(name, level, self.absolute(importer))
        return self.imports.real(found) if found is not None else None

    def is_missing(self, name: str, level: int, importer: Path) -> bool:
        """Whether an import in a file raises: a package of the project has no such module, and nothing makes one."""
        asked = level or ("." in name and not self._searches_elsewhere)
        found = lacking(name, level, importer, self.imports) if asked else None
        if found is None or self.is_of_another(level):
            return False
        package, last = found
        files = [package, *makers(package, self.imports.root)]
        self.consulted.update(map(os.fspath, files))
        own, *texts = (path.read_text(encoding="utf-8", errors="replace") for path in files)
        named = any(names(path, text, last) for path, text in zip(files[1:], texts, strict=True))
        return not (searches_otherwise(own) or named)

    def is_of_another(self, level: int) -> bool:
        """Whether what an import of so many dots finds in the project may be another's: the program looks first in a
        folder that is not there.
        """
        return not level and self.imports.looks_elsewhere

    def submodule(self, package: Module, name: str) -> str | None:
        """The file of a submodule, the folder of one without an `__init__.py`; None when the package has none of this
        name.
        """
        home = self.absolute(package)
        directory = home if home.is_dir() else home.parent
        if home.is_file() and home.name != "__init__.py":
            return None
        found = self.imports.part(directory, name)
        return self.imports.real(found) if found is not None else None

    def program_root(self, entry: str | Path) -> Path:
        """The nearest directory above an entry that looks like a project of its own, at most the root."""
        return self._root_above(os.path.dirname(entry))

    def pinned_below(self, entry: str) -> Path:
        """The directory up to which pins hold for an entry: the root, of whose inner projects each states its own."""
        return self.root if self.root in Path(entry).parents else self.program_root(entry)

    def _root_above(self, directory: str) -> Path:
        if directory not in self._roots:
            above = os.path.dirname(directory)
            marked = above != directory and begins_project(directory, ROOT_MARKS)
            outermost = self.root if above == directory else None
            self._roots[directory] = Path(directory) if marked else outermost or self._root_above(above)
        return self._roots[directory]

    def data(self, name: str, module: Module) -> Any:
        """The contents of a YAML, JSON or TOML file of the project; None when there is no such file."""
        path = self.file(name, module)
        return self.document(path) if path is not None else None

    def file(self, name: str, module: Module) -> str | None:
        """A file of the project (an absolute path) by what the code of a module calls it, from where programs are
        started: the root, or beside them; None when there is none.
        """
        here = self.absolute(module).parent
        for base in (self.program_root(here / "_"), here, self._started_in or here, self.root):
            path = os.path.realpath(base / name)
            if not Path(path).is_relative_to(self.root):
                continue
            self.consulted.add(path)
            if os.path.isfile(path):
                return path
        return None

    def document(self, path: str) -> Any:
        """The contents of such a file (an absolute path), which know where they are written; None for any other."""
        self.consulted.add(path)
        if path not in self._data:
            source = self._source(path)
            self._data[path] = _load(source) if source is not None else None
        return self._data[path]


def _load(source: Source) -> Any:
    from ..run.pages import DocumentPage

    try:
        return DocumentPage(source.path, read_document(source.text, Path(source.path))).data()
    except DocumentError:
        return None
