"""Views: what of each file's text decides what leads to a finding, as a digest that most edits leave as it was.

A new comment, another number, a local variable more: none of them changes who mentions whom, nor which words of the
rules occur. Identifiers count as far as something in the project is called so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from ..files.cache import digest
from ..files.gate import identifiers_in
from .project import Project
from .reach import Learnt, Reach
from .units import Sheet, Unit

BRIEF, WHOLE = "brief ", "whole "


class Views(NamedTuple):
    """The names that count, and of each file (an absolute path) the digests of its content and of its view."""

    names: frozenset[str]
    files: dict[str, list[str]]


def views_of(reach: Reach, project: Project) -> Views:
    """The views of all files of which `reach` learnt something, brief where it asked for no unit of a file."""
    whole = reach.mentions.read
    names = frozenset(reach.telling).union(*(_names_in(reach, path) for path in whole))
    paths = sorted({*reach.paths, *whole})
    return Views(names, {path: [project.digest(path), _view(path, reach, names, path in whole)] for path in paths})


def kept(learnt: Learnt, views: Views, given: Sequence[str]) -> dict[str, Any]:
    """What was learnt of the `given` files, as JSON, with the views that it depends on."""
    return {
        "given": digest(given),
        "names": sorted(views.names),
        "views": views.files,
        "leading": {path: sorted(held) for path, held in sorted(learnt.leading.items())},
        "own": sorted(learnt.names),
        "started": [[*asked, answer] for asked, answer in sorted(learnt.started.items())],
        "acting": learnt.acting,
    }


def still(entry: dict[str, Any], reach: Reach, project: Project, given: Sequence[str]) -> Learnt | None:
    """What was learnt of the `given` files and kept, None where a file has another view now. Of files whose content
    changed the entry forgets what their views do not tell. Raises as a dictionary does where the entry is not what
    `kept` made.
    """
    if entry["given"] != digest(given):
        return None
    names = frozenset(entry["names"])
    for path, told in entry["views"].items():
        content, view = project.digest(path), told[1]
        if content != told[0]:
            if _view(path, reach, names, view.startswith(WHOLE)) != view:
                return None
            told[0] = content
            entry["acting"].pop(path, None)
    leading = {path: set(held) for path, held in entry["leading"].items()}
    started = {(path, name): answer for path, name, answer in entry["started"]}
    return Learnt(leading, set(entry["own"]), started, dict(entry["acting"]))


def _names_in(reach: Reach, path: str) -> Iterator[str]:
    """Every name that something in a file has, or is imported under or from."""
    sheet = reach.mentions.sheet(path)
    if sheet is not None:
        yield from (*sheet.units, *sheet.imports, *sheet.promised)
        yield from (item.member for held in sheet.imports.values() for item in held)
        yield from (unit.last for unit in reach.units(path))


def _view(path: str, reach: Reach, names: AbstractSet[str], whole: bool) -> str:
    settings = [*map(repr, reach.wording.settings(path))]
    if not whole:
        return BRIEF + digest([*settings, str(reach.wording.all_stand_in(path))])
    sheet = reach.mentions.sheet(path)
    if sheet is None:
        return WHOLE
    wording = reach.wording
    told = [*settings, str(wording.holds_anchor(path)), str(reach.calls_by_name(path)), *sorted(wording.at_top(path))]
    told += [f"{name} {sorted(rules)}" for name, rules in wording.bound(path).items()]
    told += _imports(sheet)
    for unit in reach.units(path):
        told += _unit(unit, reach, names)
    return WHOLE + digest(told)


def _imports(sheet: Sheet) -> Iterator[str]:
    for held in (sheet.imports, sheet.promised):
        for name, items in held.items():
            yield from (name, *map(repr, items))
        yield ""


def _unit(unit: Unit, reach: Reach, names: AbstractSet[str]) -> Iterable[str]:
    yield from (unit.name, str(unit.defines), str(bool(unit.bases)), str(bool(unit.decorators)))
    yield " ".join(sorted(unit.identifiers & names))
    yield " ".join(sorted(reach.wording.of(unit)))
    for text in (unit.bases, unit.decorators):
        yield " ".join(sorted(identifiers_in(text) & names)) if text else ""
