"""What was seen, in gclint's usual form: findings of certainty `seen`, with the lines of the user's files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gclint.addresses import SEEN
from gclint.finding import Finding, Location
from gclint.rehearse.asking import EXPLAINED
from gclint.rehearse.record import Place
from gclint.rehearse.rehearsal import Rehearsal
from gclint.rehearse.seen import Seen
from gclint.report.content import Report, RuleInfo
from gclint.rule import known_rules
from gclint.source.source import Source, Unreadable, read


@dataclass(frozen=True)
class Explained:
    """What reports say about a code: its name, and what it means."""

    code: str
    name: str

    @property
    def docs(self) -> str:
        """What a finding of this code means."""
        return f"{self.summary} See {SEEN}."

    @property
    def summary(self) -> str:
        """The same in a sentence."""
        return f"{EXPLAINED.get(self.code[:4], 'Seen in a rehearsal')} ({self.name.replace('-', ' ')})."


def report_of(made: Rehearsal) -> Report:
    """Return the report of a rehearsal: what the questions have seen, and what the rules found."""
    root, sources = Path(str(made.recipe.copy_of)), dict[str, Source]()
    seen = [_finding(each, root, made.recipe.name, sources) for each in made.seen]
    for place in (place for each in made.found for place in (each.location, *each.related)):
        _text_of(place.path, sources)
    rules: dict[str, RuleInfo] = {each.code: Explained(each.code, each.name) for each in made.seen}
    named = {each.code for each in made.found}
    rules |= {each.code: each for each in known_rules() if each.code in named}
    return Report(tuple(sorted([*seen, *made.found], key=lambda item: item.key)), (), 1, sources, rules)


def _finding(seen: Seen, root: Path, program: str, sources: dict[str, Source]) -> Finding:
    place = _location(seen.place or (program, 1), root, sources)
    related = tuple(_location(each, root, sources, text) for each, text in seen.related)
    return Finding(seen.code, seen.name, seen.message, place, "seen", seen.effect, related=related, help=seen.help)


def _location(place: Place, root: Path, sources: dict[str, Source], message: str = "") -> Location:
    name, line = place
    path = os.path.relpath(root / name)
    source = _text_of(path, sources)
    if source is None:
        return Location(path, line, 1, line, 2, message)
    lines = source.lines
    text = lines[line - 1].rstrip() if 1 <= line <= len(lines) else ""
    first = len(text) - len(text.lstrip()) + 1
    return Location(path, line, first, line, max(len(text) + 1, first + 1), message)


def _text_of(path: str, sources: dict[str, Source]) -> Source | None:
    """The file of a path as it is shown, kept among the `sources`; None where it cannot be read."""
    if path not in sources:
        try:
            sources[path] = read(path, path)
        except Unreadable:
            return None
    return sources[path]
