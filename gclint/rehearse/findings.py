"""What was seen, in gclint's usual form: findings of certainty `seen`, with the lines of the user's files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gclint.addresses import SEEN
from gclint.finding import Finding, Location
from gclint.rehearse.asking import EXPLAINED
from gclint.rehearse.record import Place
from gclint.rehearse.seen import Seen
from gclint.report.content import Report
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


def report_of(seen: Sequence[Seen], root: Path, program: str) -> Report:
    """Return the report of a rehearsal of `program` (its file relative to `root`)."""
    sources: dict[str, Source] = {}
    findings = tuple(sorted((_finding(each, root, program, sources) for each in seen), key=lambda item: item.key))
    rules = {each.code: Explained(each.code, each.name) for each in seen}
    return Report(findings, (), 1, sources, rules)


def _finding(seen: Seen, root: Path, program: str, sources: dict[str, Source]) -> Finding:
    place = _location(seen.place or (program, 1), root, sources)
    related = tuple(_location(each, root, sources, text) for each, text in seen.related)
    return Finding(seen.code, seen.name, seen.message, place, "seen", seen.effect, related=related, help=seen.help)


def _location(place: Place, root: Path, sources: dict[str, Source], message: str = "") -> Location:
    name, line = place
    path = os.path.relpath(root / name)
    if path not in sources:
        try:
            sources[path] = read(root / name, path)
        except Unreadable:
            return Location(path, line, 1, line, 2, message)
    lines = sources[path].lines
    text = lines[line - 1].rstrip() if 1 <= line <= len(lines) else ""
    first = len(text) - len(text.lstrip()) + 1
    return Location(path, line, first, line, max(len(text) + 1, first + 1), message)
