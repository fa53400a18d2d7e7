"""Uses: which definitions of a project something in it may use, as far as names tell.

What nothing names but itself, or only what is not used either, no run of the project comes to, nor to what stands in a
file that no program, test or notebook imports. Where a name may be looked up that no text spells out, whatever may be
meant is used; so is what a package that others can install gives on as a whole.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..compiled import cached, interpreted
from ..source.folders import begins_project
from ..source.kinds import kind_of
from ..source.source import content
from ..source.stamps import read_by_analyses
from .gate import identifiers_in
from .lookups import Lookups
from .mentions import Mentions
from .outline import Outline, Unit

if TYPE_CHECKING:
    from .index import FileIndex
    from .project import Project

NOTHING_MORE = frozenset(("object", "ABC"))
"""Bases of a class of which nothing is called for that."""
COLLECTED = r"test_.*\.py|.*_test\.py"
"""The files that pytest collects (`python_files`, docs.pytest.org)."""
_CALLED_BY_OTHERS = re.compile(rf"{COLLECTED}|conftest\.py|.*\.ipynb")
"""Files whose definitions pytest calls, or whoever works in a notebook."""
LISTED = "__all__"
"""What names things to be given on, and uses none of them."""
MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg")
_LISTS = ("listdir", "glob", "scandir", "iter_modules", "walk_packages")
"""What a file asks for that imports all files of a folder."""
_SHOWN_IN_CODE = re.compile(r"\b(\w+)[ \t]*\(|\bimport[ \t]+(.+)")
_IMPORTED = re.compile(r"(?:\bfrom|\bimport|[ \t]-m)[ \t]+([\w.]+)(?:[ \t]+import[ \t]+(.+))?")
MOST_BYTES = 20_000_000
"""How much of a project's other texts is read; where there is more, as of data in JSON, all may be named there."""


@interpreted
class Uses:
    """Who uses what among the definitions of the files at `paths` (absolute ones)."""

    def __init__(self, project: Project, mentions: Mentions, paths: Sequence[str]):
        self._project = project
        self._mentions = mentions
        self._paths = paths
        self._lookups = Lookups(project, mentions, paths)

    def unused(self, units: Iterable[Unit]) -> set[Unit]:
        """Those of some units that nothing uses."""
        units = list(units)
        asked = {each for unit in units for each in (unit, unit.owner or unit)}
        uses: defaultdict[Unit, list[Unit]] = defaultdict(list)
        anyway = {unit for unit in asked if self._is_used_anyway(unit)}
        seen, fresh = set(asked), asked - anyway
        while fresh:
            found = set[Unit]()
            for user, unit in self._pairs(fresh):
                uses[user].append(unit)
                found |= {user, user.owner or user}
            fresh = found - seen
            seen |= fresh
            anyway |= {unit for unit in fresh if self._is_used_anyway(unit)}
            fresh -= anyway
        used, called = set[Unit](), set[Unit]()
        _spread(anyway, uses, used, called)
        left = seen - used
        named = self._in_texts({unit.last for unit in left}, _named) if left else set[str]()
        _spread({unit for unit in left if unit.last in named}, uses, used, called)
        return {unit for unit in units if unit not in used or unit.path not in self._imported_by_runs}

    def _pairs(self, units: Collection[Unit]) -> Iterator[tuple[Unit, Unit]]:
        """Whatever names one of some units, with that unit; itself and its own methods aside."""
        by_name: defaultdict[str, list[Unit]] = defaultdict(list)
        for unit in units:
            by_name[unit.last].append(unit)
            if unit.owner is not None and _may_be_called_by_its_base(unit, self._mentions):
                yield unit.owner, unit
        for path in self._paths:
            outline = self._mentions.outline(path)
            if outline is None:
                continue
            spelled = _spelled(by_name, outline)
            for user in outline.all_units:
                if user.name == LISTED:
                    continue
                for unit in [unit for name in spelled.keys() & _named_by(user) for unit in spelled[name]]:
                    if user not in (unit, unit.owner) and user.owner is not unit and self._sees(user, unit):
                        yield user, unit

    def _sees(self, user: Unit, unit: Unit) -> bool:
        """Whether a name in one unit may stand for another one: a method's may, wherever it is."""
        if unit.owner is not None or unit in self._mentions.called(user):
            return True
        return any(unit in self._mentions.named(user.path, name, None) for name in user.bases or ())

    def _is_used_anyway(self, unit: Unit) -> bool:
        """Whether a unit runs, or is there for others, whatever names it; a method where its class is used."""
        outer = unit.owner or unit
        return unit.path in self._imported_by_runs and (
            not outer.defines
            or outer.decorators is not None
            or _CALLED_BY_OTHERS.fullmatch(os.path.basename(unit.path)) is not None
            or unit.path in self._given_on
            or unit.path in (self._lookups.files if unit.owner is None else self._with_objects_looked_into)
            or outer in self._lookups.units
            or (unit.owner is None and unit.path not in self._imported_in_code)
        )

    @cached
    def _given_on(self) -> frozenset[str]:
        """The files of which an `__init__` gives on all that they have, where others can install the project."""
        packages = (path for path in self._paths if os.path.basename(path) == "__init__.py")
        outlines = [(path, outline) for path in packages if (outline := self._mentions.outline(path)) is not None]
        stars = [(path, item) for path, outline in outlines for item in outline.imports.get("*", ())]
        files = (file for path, item in stars for file in self._mentions.reads(path, item) if file)
        return frozenset(file for file in files if self._is_installed(file))

    def _is_installed(self, path: str) -> bool:
        """Whether a file belongs to what a manifest around it installs."""
        root = os.fspath(self._project.root)
        folders = (os.fspath(each) for each in Path(path).parents)
        return any(begins_project(each, MANIFESTS) for each in folders if f"{each}{os.sep}".startswith(root + os.sep))

    @cached
    def _imported_in_code(self) -> frozenset[str]:
        """The files that do something by themselves, that pytest calls or somebody works in, and what those import."""
        return self._importing(path for path in self._paths if self._is_started(path))

    @cached
    def _imported_by_runs(self) -> frozenset[str]:
        """The same, and what some run may import by a name that is computed, of those that code or a text has."""
        found = self._imported_in_code
        left = {path: self._project.imports.module_name(Path(path)) for path in self._paths if path not in found}
        named = self._in_texts(set(left.values()), _imported)
        given = [path for path, name in left.items() if name in named]
        if any(told.calls_by_name for path, told in self._told() if path.endswith(".py")):
            parts = {path: set(name.split(".")) for path, name in left.items()}
            wanted = set().union(*parts.values())
            named = self._in_texts(wanted, _named) | self._named_in_code(wanted, found)
            given += [path for path, held in parts.items() if held <= named]
        return self._importing([*found, *given])

    def _is_started(self, path: str) -> bool:
        outline = self._mentions.outline(path)
        by_others = _CALLED_BY_OTHERS.fullmatch(os.path.basename(path)) is not None
        return by_others or (outline is not None and (outline.runs or self._acts_alone(path, outline)))

    def _acts_alone(self, path: str, outline: Outline) -> bool:
        """Whether a file that no other one imports does more at its top level than to name things, or names what a
        function of the project gives.
        """
        return path not in self._imported and (outline.acts or not outline.assigned.isdisjoint(self._defined))

    @cached
    def _imported(self) -> frozenset[str]:
        return frozenset().union(*map(self._mentions.files, self._paths))

    @cached
    def _defined(self) -> frozenset[str]:
        outlines = filter(None, map(self._mentions.outline, self._paths))
        return frozenset(name for outline in outlines for name in outline.units)

    def _importing(self, paths: Iterable[str]) -> frozenset[str]:
        """Some files, and all that they import, with the packages around them."""
        found, waiting = set[str](), list(paths)
        while waiting:
            path = waiting.pop()
            if path not in found:
                found.add(path)
                waiting += self._mentions.files(path)
                waiting.append(os.path.join(os.path.dirname(path), "__init__.py"))
        return frozenset(found)

    def _named_in_code(self, names: set[str], files: Collection[str]) -> set[str]:
        """Those of some names that stand in one of these files; all where one goes over the files of a folder."""
        found = set[str]()
        for path in files:
            outline = self._mentions.outline(path)
            named = (
                frozenset[str]().union(*(unit.identifiers for unit in outline.all_units)) if outline else frozenset()
            )
            told = self._project.told(path)
            if told is not None and told.calls_by_name and not named.isdisjoint(_LISTS):
                return names
            found |= names & named
        return found

    @cached
    def _with_objects_looked_into(self) -> frozenset[str]:
        """The files of whose objects something may be looked up under a name that no text spells out."""
        looking = self._lookups.looking()
        return self._lookups.files.union(looking, *map(self._mentions.files, looking))

    def _told(self) -> Iterator[tuple[str, FileIndex]]:
        told = ((path, self._project.told(path)) for path in self._paths)
        return ((path, each) for path, each in told if each is not None)

    def _in_texts(self, names: set[str], taken: Callable[[str, str], set[str]]) -> set[str]:
        """Those of some names that are `taken` from the text of a file that is no Python, by the file's kind."""
        if not names or self._texts is None:
            return names
        return names & set[str]().union(*(taken(text, kind) for text, kind in self._texts))

    @cached
    def _texts(self) -> list[tuple[str, str]] | None:
        """The texts of the project's files that are no Python, each with its kind; None for too much of it."""
        found, known, left = list[tuple[str, str]](), set(self._paths), MOST_BYTES
        for entry in read_by_analyses(os.fspath(self._project.root)):
            if os.path.realpath(entry.path) in known:
                continue
            data = content(entry.path, left)
            left -= len(data)
            if left <= 0:
                return None
            found.append((data.decode("utf-8", "replace"), kind_of(entry.name)))
        return found


def _spread(start: Iterable[Unit], uses: dict[Unit, list[Unit]], used: set[Unit], called: set[Unit]) -> None:
    """Add some units, and all that they use, to those that are used: a method that is `called` once its class is."""
    waiting = list(start)
    while waiting:
        unit = waiting.pop()
        if unit.owner is not None and unit.owner not in used:
            called.add(unit)
        elif unit not in used:
            used.add(unit)
            waiting += [*uses.get(unit, ()), *(method for method in called if method.owner is unit)]


def _spelled(by_name: dict[str, list[Unit]], outline: Outline) -> dict[str, list[Unit]]:
    """Units by their names, and by those that a file imports them under."""
    found = dict(by_name)
    for name in by_name.keys() & outline.aliases.keys():
        for alias in outline.aliases[name]:
            found[alias] = [*found.get(alias, ()), *by_name[name]]
    return found


def _named_by(unit: Unit) -> frozenset[str]:
    """What a unit names itself: a class not what its methods do."""
    named = unit.identifiers
    if unit.methods:
        named = named.difference(*(method.identifiers for method in unit.methods.values()))
    decorators = unit.decorators.identifiers if unit.decorators is not None else frozenset[str]()
    return named | decorators | (unit.bases or frozenset())


def _may_be_called_by_its_base(method: Unit, mentions: Mentions) -> bool:
    """Whether a class's method runs without being named: a special one, or one of a class with a base of a library."""
    if method.last.startswith("__") and method.last.endswith("__"):
        return True
    seen, waiting = set[Unit](), [method.owner]
    while waiting:
        owner = waiting.pop()
        if owner is None or owner in seen:
            continue
        seen.add(owner)
        for name in (owner.bases or frozenset()) - NOTHING_MORE:
            found = [unit for unit in mentions.named(owner.path, name, None) if unit.bases is not None]
            if not found:
                return True
            waiting += found
    return False


def _named(text: str, kind: str) -> set[str]:
    """All names in a text; in one for people those that it shows as code: what is called, and what is imported."""
    if kind != "other":
        return set(identifiers_in(text))
    found = _SHOWN_IN_CODE.findall(text)
    return {name for called, imported in found for name in (called, *identifiers_in(imported))}


def _imported(text: str, kind: str) -> set[str]:
    """The modules that a text says are imported, and what of them, which may be modules too."""
    found = _IMPORTED.findall(text)
    members = {f"{module}.{name}" for module, names in found for name in identifiers_in(names)}
    return members | {module for module, _ in found}
