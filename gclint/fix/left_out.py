"""Fixes that are left out while others are applied: found again when edits have moved their lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gclint.finding import Edit
from gclint.fix.edits import Chosen, spans_of
from gclint.source.lines import line_starts


@dataclass(frozen=True)
class LeftOut:
    """A fix that is not to be applied, and where its finding stands by now: line and column from 1.

    With `alike` every like fix of its file is left out where its finding is no longer at its place.
    """

    chosen: Chosen
    line: int
    column: int
    alike: bool = True


def left_out(fixes: Iterable[Chosen], alike: bool = True) -> list[LeftOut]:
    """Return fixes to leave out, their findings where they were made."""
    return [LeftOut(each, each.finding.location.line, each.finding.location.column, alike) for each in fixes]


def remaining(wanted: Iterable[Chosen], out: Iterable[LeftOut]) -> list[Chosen]:
    """Return the fixes of `wanted` that are not left out.

    Where the finding of one that was rejected is no longer at its place, every like fix of its file is taken for it:
    better a fix too few than one that was rejected.
    """
    kept = list(wanted)
    for each in out:
        alike = [one for one in kept if _identity(one) == _identity(each.chosen)]
        here = [one for one in alike if _place(one) == (each.line, each.column)]
        gone = here or (alike if each.alike else [])
        kept = [one for one in kept if one not in gone]
    return kept


def moved(
    out: Iterable[LeftOut], texts: Mapping[str, str], new: Mapping[str, str], made: Iterable[Chosen]
) -> list[LeftOut]:
    """Return the fixes left out where they stand once the edits of `made` have turned `texts` into `new`."""
    edits = [edit for chosen in made for edit in chosen.fix.edits]
    return [_moved(each, texts, new, edits) for each in out]


def _moved(each: LeftOut, texts: Mapping[str, str], new: Mapping[str, str], edits: Sequence[Edit]) -> LeftOut:
    line, column = place_after(each.chosen.finding.location.path, each.line, each.column, texts, new, edits)
    return replace(each, line=line, column=column)


def place_after(
    path: str, line: int, column: int, old: Mapping[str, str], new: Mapping[str, str], edits: Sequence[Edit]
) -> tuple[int, int]:
    """Where line and column of a file are once `edits` have turned the texts `old` into `new`."""
    starts = line_starts(old[path]) if path in new else []
    if line >= len(starts):
        return line, column
    place = starts[line - 1] + column - 1
    spans = spans_of(old[path], (edit for edit in edits if edit.path == path))
    place += sum(len(span.text) - (span.end - span.start) for span in spans if span.end <= place)
    starts = line_starts(new[path])
    line = bisect_right(starts, place)
    return line, place - starts[line - 1] + 1


def _place(chosen: Chosen) -> tuple[int, int]:
    return chosen.finding.location.line, chosen.finding.location.column


def _identity(chosen: Chosen) -> tuple[str, str, str]:
    return chosen.finding.code, chosen.finding.location.path, chosen.fix.name
