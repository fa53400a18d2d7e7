"""The part of a source line that there is room for, and where its columns are on the screen."""

from __future__ import annotations

from dataclasses import dataclass

from gclint.report.columns import columns_before, on_screen, width_of

_MORE = "..."


@dataclass(frozen=True)
class View:
    """A line from `start` to `end` (code points from 0), with dots where it is cut."""

    line: str
    start: int
    end: int

    @property
    def printed(self) -> str:
        """The text as it is printed: tabs as spaces, control characters as escapes."""
        return self._head + on_screen(self.line[self.start : self.end]) + (_MORE if self.end < len(self.line) else "")

    def shows(self, column: int) -> bool:
        """Whether the code point at `column` (from 1) is in it, or the line's end."""
        return self.start < column <= self.end + (self.end == len(self.line))

    def columns_before(self, column: int) -> int:
        """Return how many columns of the screen lie before `column` (from 1); those cut off count for none."""
        inside = max(0, min(column - 1, self.end) - self.start)
        return len(self._head) + columns_before(self.line[self.start : self.end], inside + 1)

    @property
    def _head(self) -> str:
        return _MORE if self.start else ""


def view_of(line: str, column: int, room: int) -> View:
    """Return the view of `line` in `room` columns that shows what begins at `column` (from 1)."""
    if columns_before(line, len(line) + 1) <= room:
        return View(line, 0, len(line))
    start = _first(line, column - 1, room // 4)
    end = _last(line, start, room - 2 * len(_MORE))
    if end == len(line):
        start = _first(line, end, room - len(_MORE))
    return View(line, start, end)


def _first(line: str, at: int, room: int) -> int:
    """The first code point from which on `line` takes at most `room` columns up to `at`."""
    while at > 0 and (room := room - width_of(on_screen(line[at - 1]))) >= 0:
        at -= 1
    return at


def _last(line: str, at: int, room: int) -> int:
    """The first code point that `room` columns from `at` on do not hold."""
    while at < len(line) and (room := room - width_of(on_screen(line[at]))) >= 0:
        at += 1
    return at
