"""What was learnt of where findings can come from, kept with the fingerprints of the files that it depends on.

A fingerprint is of what decides that in a file's text; most edits leave it as it was: a new comment, another number, a
local variable more. None of them changes who mentions whom, nor which words of the rules occur. Identifiers count as
far as something in the project is called so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from ..source.cache import digest
from .outline import Unit
from .project import Project
from .reach import Learnt, Reach

BRIEF, WHOLE = "brief ", "whole "


class Fingerprints(NamedTuple):
    """The names that count, and of each file (an absolute path) the digest of its content and its fingerprint."""

    names: frozenset[str]
    files: dict[str, list[str]]


def fingerprints_of(reach: Reach, project: Project) -> Fingerprints:
    """The fingerprints of all files of which `reach` learnt something, brief where it asked for no unit of a file."""
    whole = reach.mentions.read
    names = frozenset(reach.telling).union(*(_names_in(reach, path) for path in whole))
    paths = sorted({*reach.paths, *whole})
    made = {path: [project.digest(path), _fingerprint(path, reach, names, path in whole)] for path in paths}
    return Fingerprints(names, made)


def kept(learnt: Learnt, prints: Fingerprints, given: Sequence[str]) -> dict[str, Any]:
    """What was learnt of the `given` files, as JSON, with the fingerprints that it depends on."""
    return {
        "given": digest(given),
        "names": sorted(prints.names),
        "files": prints.files,
        "leading": {path: sorted(held) for path, held in sorted(learnt.leading.items())},
        "unused": None if learnt.unused is None else {path: sorted(held) for path, held in learnt.unused.items()},
        "own": sorted(learnt.names),
        "started": [[*asked, answer] for asked, answer in sorted(learnt.started.items())],
        "acting": learnt.acting,
    }


def still(entry: dict[str, Any], reach: Reach, project: Project, given: Sequence[str]) -> Learnt | None:
    """What was learnt of the `given` files and kept, None where a file has another fingerprint now. Of files whose
    content changed the entry forgets what their fingerprints do not tell. Raises as a dictionary does where the entry
    is not what `kept` made.
    """
    if entry["given"] != digest(given):
        return None
    names = frozenset(entry["names"])
    for path, told in entry["files"].items():
        content, held = project.digest(path), told[1]
        if content != told[0]:
            if _fingerprint(path, reach, names, held.startswith(WHOLE)) != held:
                return None
            told[0] = content
            entry["acting"].pop(path, None)
    leading = {path: set(held) for path, held in entry["leading"].items()}
    started = {(path, name): answer for path, name, answer in entry["started"]}
    unused = {path: set(held) for path, held in entry["unused"].items()} if entry["unused"] is not None else None
    return Learnt(leading, unused, set(entry["own"]), started, dict(entry["acting"]))


def _names_in(reach: Reach, path: str) -> Iterator[str]:
    """Every name that something in a file has, or is imported under or from."""
    outline = reach.mentions.outline(path)
    if outline is not None:
        yield from (*outline.units, *outline.imports, *outline.promised, *outline.members)
        yield from (unit.last for unit in outline.all_units)


def _fingerprint(path: str, reach: Reach, names: AbstractSet[str], whole: bool) -> str:
    words, settings = reach.words, [*map(repr, reach.words.settings(path))]
    if not whole:
        return BRIEF + digest([*settings, str(words.all_stand_in(path))])
    outline = reach.mentions.outline(path)
    if outline is None:
        return WHOLE
    finds = (words.holds_anchor(path), reach.calls_by_name(path), reach.looks_up(path), outline.runs)
    told = [*settings, *map(str, finds), *sorted(words.at_top(path))]
    told += [f"{name} {sorted(rules)}" for name, rules in words.bound(path).items()]
    told += map(repr, (item for held in outline.imports.values() for item in held))
    told += ["", *map(repr, (item for held in outline.promised.values() for item in held))]
    for unit in outline.all_units:
        told += _unit(unit, names)
    return WHOLE + digest(told)


def _unit(unit: Unit, names: AbstractSet[str]) -> Iterator[str]:
    yield from (unit.name, str(unit.defines), str(unit.bases is not None))
    decorators = unit.decorators.identifiers if unit.decorators is not None else frozenset[str]()
    for held in (unit.identifiers & names, unit.words, (unit.bases or frozenset()) & names, decorators & names):
        yield " ".join(sorted(held))
