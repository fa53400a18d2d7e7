"""Edits applied to text: positions to offsets, conflicts between fixes, and nothing outside an edit
touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gclint.finding import Edit, Finding, Fix
from gclint.source.lines import line_starts, newline_of, with_newlines


class BadEdit(ValueError):
    """An edit that names a place the text does not have, or overlaps another edit of its own fix."""


@dataclass(frozen=True, order=True)
class Span:
    """Offsets in code points, the end exclusive, and the text that takes their place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Chosen:
    """A finding and the one of its fixes that is to be applied."""

    finding: Finding
    fix: Fix


def spans_of(text: str, edits: Iterable[Edit]) -> list[Span]:
    """Return the edits of one file as spans of `text`, in order, duplicates once; new lines end as the
    file's do.

    Raises `BadEdit` for a position outside the text.
    """
    starts = line_starts(text)
    newline = newline_of(text)
    spans = {
        Span(
            _offset(starts, edit, edit.line, edit.column),
            _offset(starts, edit, edit.end_line, edit.end_column),
            with_newlines(edit.text, newline),
        )
        for edit in edits
    }
    ordered = sorted(spans)
    if any(span.end < span.start for span in ordered):
        raise BadEdit("an edit ends before it starts")
    return ordered


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` with the edits of one file made; raises `BadEdit` where they overlap or lie outside."""
    spans = spans_of(text, edits)
    if any(_conflict(one, two) for one, two in pairwise(spans)):
        raise BadEdit("edits overlap")
    return splice(text, spans)


def splice(text: str, spans: Iterable[Span]) -> str:
    """Return `text` with the ordered, disjoint `spans` replaced."""
    pieces, done = [], 0
    for span in spans:
        pieces += [text[done : span.start], span.text]
        done = span.end
    return "".join([*pieces, text[done:]])


def compatible(texts: Mapping[str, str], wanted: Sequence[Chosen]) -> list[Chosen]:
    """Return the fixes that can be applied together, the earlier one winning where two overlap.

    The order is that of `wanted`. A fix counts only with all its edits: one edit that overlaps an earlier
    fix, lies outside its file, or is of a file not in `texts` keeps the whole fix out.
    """
    taken: dict[str, list[Span]] = {}
    accepted = []
    for chosen in wanted:
        spans = _own_spans(texts, chosen.fix)
        if spans is None:
            continue
        clash = any(
            _conflict(old, new) and old != new
            for path, own in spans.items()
            for old in taken.get(path, [])
            for new in own
        )
        if clash:
            continue
        for path, own in spans.items():
            taken.setdefault(path, []).extend(own)
        accepted.append(chosen)
    return accepted


def apply_all(texts: Mapping[str, str], accepted: Iterable[Chosen]) -> dict[str, str]:
    """Return the new text of each file that the `accepted` fixes (see `compatible`) change."""
    by_path: dict[str, list[Edit]] = {}
    for chosen in accepted:
        for edit in chosen.fix.edits:
            by_path.setdefault(edit.path, []).append(edit)
    made = {path: apply(texts[path], edits) for path, edits in sorted(by_path.items())}
    return {path: text for path, text in made.items() if text != texts[path]}


def _own_spans(texts: Mapping[str, str], fix: Fix) -> dict[str, list[Span]] | None:
    by_path: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        by_path.setdefault(edit.path, []).append(edit)
    if not by_path or any(path not in texts for path in by_path):
        return None
    try:
        spans = {path: spans_of(texts[path], edits) for path, edits in by_path.items()}
    except BadEdit:
        return None
    for own in spans.values():
        if any(_conflict(one, two) for one, two in pairwise(own)):
            return None
    return spans


def _conflict(one: Span, two: Span) -> bool:
    """Return whether the order of two edits would matter: they overlap, or one inserts where the other
    is.
    """
    if one.start == one.end or two.start == two.end:
        return one.start <= two.end and two.start <= one.end
    return one.start < two.end and two.start < one.end


def _offset(starts: Sequence[int], edit: Edit, line: int, column: int) -> int:
    if not 1 <= line < len(starts) or column < 1:
        raise BadEdit(f"{edit.path} has no line {line}, column {column}")
    offset = starts[line - 1] + column - 1
    if offset > starts[line]:
        raise BadEdit(f"{edit.path}:{line} has no column {column}")
    return offset
