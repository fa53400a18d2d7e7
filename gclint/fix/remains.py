"""Whether a fix worked: its finding is gone from the statement in which it stood, wherever that is by now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gclint.check.suppress import logical_lines
from gclint.finding import Edit, Finding
from gclint.fix.edits import BadEdit, Chosen, spans_of
from gclint.fix.left_out import place_after
from gclint.source.source import Source

Sources = Mapping[str, Source]


@dataclass(frozen=True)
class Made:
    """A fix that was applied, in which `round` (from 0), and where its finding stands by now.

    `line` and `column` count from 1. `others` are the like findings of the statement that were not fixed in that round.
    """

    chosen: Chosen
    round: int
    line: int
    column: int
    others: int


def made(accepted: Iterable[Chosen], findings: Sequence[Finding], sources: Sources, number: int) -> list[Made]:
    """The fixes of a round as they are kept, given what was found before it in `sources`."""
    accepted = list(accepted)
    done = [chosen.finding for chosen in accepted]
    statements = _Statements(sources)
    return [
        Made(
            each,
            number,
            each.finding.location.line,
            each.finding.location.column,
            sum(one not in done for one in statements.alike(each.finding, each.finding.location.line, findings)),
        )
        for each in accepted
    ]


def shifted(kept: Iterable[Made], old: Mapping[str, str], new: Mapping[str, str], edits: Sequence[Edit]) -> list[Made]:
    """The fixes with their places as they are once `edits` have turned the texts `old` into `new`."""
    return [_shifted(each, old, new, edits) for each in kept]


def _shifted(each: Made, old: Mapping[str, str], new: Mapping[str, str], edits: Sequence[Edit]) -> Made:
    line, column = place_after(each.chosen.finding.location.path, each.line, each.column, old, new, edits)
    return replace(each, line=line, column=column)


def idle(kept: Iterable[Made], findings: Sequence[Finding], sources: Sources) -> list[Made]:
    """Those of the fixes whose findings are still there, in `sources` as they are now."""
    statements = _Statements(sources)
    found = []
    for each in kept:
        finding = each.chosen.finding
        alike = statements.alike(finding, each.line, findings)
        if len(alike) > each.others:
            exact = any((one.location.line, one.location.column) == (each.line, each.column) for one in alike)
            found.append((each, exact))
    return [each for each, exact in found if exact or not any(other for _, other in found)]


def tried_again(
    last: Iterable[Made], every: Iterable[Made], wanted: Sequence[Chosen], old: Sources, new: Sources
) -> list[Made]:
    """Those of the `last` round's fixes that are `wanted` again at the very places that they have edited.

    `every` fix made so far includes those of that round; `old` and `new` are the files before and after it.
    """
    last = list(last)
    number = max((each.round for each in last), default=0)
    edits = [edit for each in every if each.round == number for edit in each.chosen.fix.edits]
    return [
        each
        for each in last
        if any(_identity(each.chosen) == _identity(one) and _touches(each, one, edits, old, new) for one in wanted)
    ]


def _identity(chosen: Chosen) -> tuple[str, str, str]:
    return chosen.finding.code, chosen.finding.location.path, chosen.fix.name


def _touches(each: Made, again: Chosen, edits: Sequence[Edit], old: Sources, new: Sources) -> bool:
    for path in {edit.path for edit in each.chosen.fix.edits}:
        own = _after(old[path].text, edits, each.chosen.fix.edits, path)
        try:
            spans = spans_of(new[path].text, (edit for edit in again.fix.edits if edit.path == path))
        except BadEdit:
            continue
        if any(span.start <= end and start <= span.end for span in spans for start, end in own):
            return True
    return False


def _after(text: str, edits: Iterable[Edit], own: Iterable[Edit], path: str) -> list[tuple[int, int]]:
    """The ranges that the edits `own`, made among `edits`, cover in the text after them."""
    mine = spans_of(text, (edit for edit in own if edit.path == path))
    ranges, shift = [], 0
    for span in spans_of(text, (edit for edit in edits if edit.path == path)):
        if span in mine:
            ranges.append((span.start + shift, span.start + shift + len(span.text)))
        shift += len(span.text) - (span.end - span.start)
    return ranges


class _Statements:
    """The logical lines of files, read when they are asked for."""

    def __init__(self, sources: Sources):
        self._sources = sources
        self._lines: dict[str, list[tuple[int, int]]] = {}

    def alike(self, finding: Finding, line: int, findings: Iterable[Finding]) -> list[Finding]:
        """Those of the findings that say the same as `finding`, in the statement of a line (from 1)."""
        path = finding.location.path
        if path not in self._lines:
            source = self._sources.get(path)
            python = source is not None and source.kind in {"python", "notebook"}
            self._lines[path] = logical_lines(source.text) if source is not None and python else []
        first, last = next((each for each in self._lines[path] if each[0] <= line <= each[1]), (line, line))
        wanted = finding.code, path, finding.message
        return [
            one
            for one in findings
            if (one.code, one.location.path, one.message) == wanted and first <= one.location.line <= last
        ]
