"""Uses: which definitions of a project something in it may use, as far as names tell.

What nothing names but itself, or only what is not used either, no run of the project comes to. Where a name may be
looked up that no text spells out, whatever may be meant is used; so is what the project gives to others as a package.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..source.folders import SETS_UP
from ..source.kinds import kind_of
from ..source.source import content
from ..source.stamps import read_by_analyses
from .gate import identifiers_in
from .mentions import Mentions
from .outline import Outline, Unit
from .resolve import SOURCE_DIRECTORIES

if TYPE_CHECKING:
    from .index import FileIndex
    from .project import Project

NOTHING_MORE = frozenset(("object", "ABC"))
"""Bases of a class of which nothing is called for that."""
_CALLED_BY_OTHERS = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py|.*\.ipynb")
"""Files whose definitions pytest calls, or whoever works in a notebook."""
_DISTRIBUTES = {
    "pyproject.toml": re.compile(rb"^\[(?:project|tool\.(?:poetry|flit|pdm|hatch)\b.*)\]", re.MULTILINE),
    "setup.cfg": re.compile(rb"^\[(?:metadata|options)\]", re.MULTILINE),
    "setup.py": SETS_UP,
}
_SHOWN_IN_CODE = re.compile(r"\b(\w+)[ \t]*\(|\bimport[ \t]+(.+)")
MOST_BYTES = 20_000_000
"""How much of a project's other texts is read; where there is more, as of data in JSON, all may be named there."""


class Uses:
    """Who uses what among the definitions of the files at `paths` (absolute ones)."""

    def __init__(self, project: Project, mentions: Mentions, paths: Sequence[str]):
        self._project = project
        self._mentions = mentions
        self._paths = paths

    def unused(self, units: Iterable[Unit]) -> set[Unit]:
        """Those of some units that nothing uses."""
        asked = [unit for unit in units if not self._is_used_anyway(unit)]
        uses: defaultdict[Unit, list[Unit]] = defaultdict(list)
        used, seen, fresh = set[Unit](), set(asked), set(asked)
        while fresh:
            found: set[Unit] = set()
            for user, unit in self._pairs(fresh):
                uses[user].append(unit)
                found.add(user)
            fresh = found - seen
            seen |= fresh
            anyway = {unit for unit in fresh if self._is_used_anyway(unit)}
            _spread(anyway, uses, used)
            fresh -= used
        left = seen - used
        named = self._named_in_texts({unit.last for unit in left}) if left else set[str]()
        _spread({unit for unit in left if unit.last in named}, uses, used)
        return {unit for unit in asked if unit not in used}

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
                for unit in [unit for name in spelled.keys() & _named_by(user) for unit in spelled[name]]:
                    if user not in (unit, unit.owner) and user.owner is not unit and self._sees(user, unit):
                        yield user, unit

    def _sees(self, user: Unit, unit: Unit) -> bool:
        """Whether a name in one unit may stand for another one: a method's may, wherever it is."""
        if unit.owner is not None or unit in self._mentions.called(user):
            return True
        return any(unit in self._mentions.named(user.path, name, None) for name in user.bases or ())

    def _is_used_anyway(self, unit: Unit) -> bool:
        """Whether a unit runs, or is there for others, whatever names it."""
        outer = unit.owner or unit
        return (
            not outer.defines
            or outer.decorators is not None
            or _CALLED_BY_OTHERS.fullmatch(os.path.basename(unit.path)) is not None
            or self._is_given_to_others(unit)
            or unit.path in self._looked_into
            or (unit.owner is None and self._is_called_by_name)
        )

    def _is_given_to_others(self, unit: Unit) -> bool:
        """Whether a unit is a public one of a package that the project is installed as, or of a file that nothing
        imports and that does nothing by itself.
        """
        public = not any(name.startswith("_") and not name.startswith("__") for name in unit.name.split("."))
        installed = self._is_distributed and self._in_own_package(os.path.dirname(unit.path))
        return public and (installed or self._is_left_alone(unit.path))

    def _is_left_alone(self, path: str) -> bool:
        outline = self._mentions.outline(path)
        return path not in self._imported and outline is not None and not outline.runs

    @cached_property
    def _imported(self) -> frozenset[str]:
        return frozenset().union(*map(self._mentions.files, self._paths))

    @cached_property
    def _is_distributed(self) -> bool:
        root = self._project.root
        return any(pattern.search(content(root / name)) for name, pattern in _DISTRIBUTES.items())

    def _in_own_package(self, directory: str) -> bool:
        """Whether a directory lies in a package right below the project's root, or below its folder of sources."""
        root = os.fspath(self._project.root)
        places = {root, *(os.path.join(root, name) for name in SOURCE_DIRECTORIES)}
        while os.path.isfile(os.path.join(directory, "__init__.py")):
            directory = os.path.dirname(directory)
            if directory in places:
                return True
        return False

    @cached_property
    def _looked_into(self) -> frozenset[str]:
        """The files in which something may be looked up under a name that no text spells out."""
        looking = [path for path, told in self._told() if told.looks_up]
        return frozenset(looking).union(*map(self._mentions.files, looking))

    @cached_property
    def _is_called_by_name(self) -> bool:
        """Whether some file imports others under names that no text spells out."""
        return any(told.calls_by_name for path, told in self._told() if path.endswith(".py"))

    def _told(self) -> Iterator[tuple[str, FileIndex]]:
        told = ((path, self._project.told(path)) for path in self._paths)
        return ((path, each) for path, each in told if each is not None)

    def _named_in_texts(self, names: set[str]) -> set[str]:
        """Those of some names that stand in another file of the project, of which a text for people shows code."""
        found, known, left = set[str](), set(self._paths), MOST_BYTES
        for entry in read_by_analyses(os.fspath(self._project.root)):
            if os.path.realpath(entry.path) in known:
                continue
            data = content(entry.path, left)
            left -= len(data)
            if left <= 0:
                return names
            text = data.decode("utf-8", "replace")
            found |= names & (_shown(text) if kind_of(entry.name) == "other" else identifiers_in(text))
        return found


def _spread(start: Iterable[Unit], uses: dict[Unit, list[Unit]], used: set[Unit]) -> None:
    """Add some units, and all that they use, to those that are used."""
    waiting = list(start)
    while waiting:
        unit = waiting.pop()
        if unit not in used:
            used.add(unit)
            waiting += uses.get(unit, ())


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


def _shown(text: str) -> set[str]:
    """The names that a text for people shows as code: what is called, and what is imported."""
    found = _SHOWN_IN_CODE.findall(text)
    return {name for called, imported in found for name in (called, *identifiers_in(imported))}
