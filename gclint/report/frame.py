"""Source lines with carets: the place of a finding and the other places that take part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gclint.finding import Location
from gclint.report.columns import wrapped
from gclint.report.content import Report, place_text
from gclint.report.escape import printable
from gclint.report.style import Style
from gclint.report.view import View, view_of

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
    room = min(_LONGEST, style.width - gutter - 3) if style.width else _LONGEST
    lines = [empty]
    last = 0
    view = View("", 0, 0)
    for mark in sorted(marks, key=lambda m: (m.place.line, m.place.column, not m.primary)):
        text = report.line_text(mark.place)
        if not text:
            note = _message(mark)
            lines += [f"{empty} {note}"] if note else []
            continue
        if mark.place.line != last or not view.shows(shown[mark].column):
            if last and mark.place.line > last + 1:
                lines.append(style.paint("." * max(3, gutter), "blue"))
            view = view_of(text, shown[mark].column, room)
            number = style.paint(str(shown[mark].line).rjust(gutter), "blue")
            lines.append(f"{number} {bar} {view.printed}")
        last = mark.place.line
        lines += [f"{empty} {line}" for line in _underline(view, mark, shown[mark], room, style)]
    return [*lines, empty] if len(lines) > 1 else []


def _underline(view: View, mark: Mark, place: Location, room: int, style: Style) -> list[str]:
    """Return the carets with the message beside them, or below them where the terminal has no room beside."""
    before = view.columns_before(place.column)
    after = view.columns_before(place.end_column if place.end_line == place.line else len(view.line.rstrip()) + 1)
    character, colour = ("^", "red") if mark.primary else ("-", "cyan")
    length = max(1, after - before)
    carets = " " * before + style.paint(character * length, colour, "bold")
    message = _message(mark)
    if not message or not style.width or before + length + 1 + len(message) <= room:
        return [carets + (f" {style.paint(message, colour)}" if message else "")]
    indent = max(0, min(before, room - len(message)))
    below = wrapped(message, room - indent).splitlines()
    return [carets, *(" " * indent + style.paint(line, colour) for line in below)]


def _message(mark: Mark) -> str:
    return printable(mark.place.message)
