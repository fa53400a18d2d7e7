"""Source lines with carets: the place of a finding and the other places that take part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gclint.finding import Location
from gclint.report.columns import columns_before, on_screen
from gclint.report.content import Report, place_text
from gclint.report.escape import printable
from gclint.report.style import Style

_LONGEST = 160


@dataclass(frozen=True)
class Mark:
    """A place to underline, and whether it is the finding's own."""

    place: Location
    primary: bool


def frames(report: Report, primary: Location, related: Sequence[Location], style: Style) -> list[str]:
    """Return the lines that show `primary` and `related` in their files, the primary's file first."""
    marks = [Mark(primary, True), *(Mark(place, False) for place in related)]
    paths = dict.fromkeys(mark.place.path for mark in marks)
    shown = {mark: report.shown(mark.place) for mark in marks}
    gutter = max(len(str(place.line)) for place in shown.values())
    lines: list[str] = []
    for path in paths:
        own = [mark for mark in marks if mark.place.path == path]
        first = next((mark for mark in own if mark.primary), own[0])
        arrow = style.paint("-->" if first.primary else ":::", "blue")
        lines.append(f"{' ' * gutter}{arrow} {place_text(shown[first])}")
        lines += _frame(report, own, shown, gutter, style)
    return lines


def _frame(report: Report, marks: list[Mark], shown: dict[Mark, Location], gutter: int, style: Style) -> list[str]:
    bar = style.paint("|", "blue")
    empty = f"{' ' * gutter} {bar}"
    lines = [empty]
    last = 0
    for mark in sorted(marks, key=lambda m: (m.place.line, m.place.column, not m.primary)):
        text = report.line_text(mark.place)
        if not text:
            note = _message(mark)
            lines += [f"{empty} {note}"] if note else []
            continue
        if mark.place.line != last:
            if last and mark.place.line > last + 1:
                lines.append(style.paint("." * max(3, gutter), "blue"))
            number = style.paint(str(shown[mark].line).rjust(gutter), "blue")
            lines.append(f"{number} {bar} {_cut(text, mark.place)}")
        last = mark.place.line
        lines.append(f"{empty} {_underline(text, mark, style)}")
    lines.append(empty)
    return lines


def _cut(text: str, place: Location) -> str:
    """Return the part of a very long line around `place`, as it is printed."""
    start, end = _window(text, place)
    return on_screen(text[start:end])


def _window(text: str, place: Location) -> tuple[int, int]:
    if len(text) <= _LONGEST:
        return 0, len(text)
    start = max(0, min(place.column - 1 - _LONGEST // 4, len(text) - _LONGEST))
    return start, start + _LONGEST


def _underline(text: str, mark: Mark, style: Style) -> str:
    place = mark.place
    start, end = _window(text, place)
    until = place.end_column if place.end_line == place.line else len(text.rstrip()) + 1
    window = text[start:end]
    before = columns_before(window, place.column - start)
    after = columns_before(window, min(until, end + 1) - start)
    character, colour = ("^", "red") if mark.primary else ("-", "cyan")
    carets = style.paint(character * max(1, after - before), colour, "bold")
    message = _message(mark)
    return " " * before + carets + (f" {style.paint(message, colour)}" if message else "")


def _message(mark: Mark) -> str:
    return printable(mark.place.message)
