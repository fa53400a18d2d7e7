"""Colours by the sixteen names that every terminal theme makes readable; none where nobody looks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO

_CODES = {"red": "31", "yellow": "33", "green": "32", "blue": "34", "cyan": "36", "bold": "1", "dim": "2"}
COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


@dataclass(frozen=True)
class Style:
    """How to print: with colour or not, how many columns there are (0: no limit), whether findings alone."""

    colour: bool = False
    width: int = 0
    quiet: bool = False

    def paint(self, text: str, *names: str) -> str:
        """Return `text` in the colours and weights named, unchanged where there is no colour."""
        if not self.colour or not text or not names:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"


def style_for(stream: TextIO) -> Style:
    """Return the style for `stream`: FORCE_COLOR and NO_COLOR decide, else whether it is a terminal."""
    terminal = stream.isatty()
    colour = terminal and os.environ.get("TERM") != "dumb"
    if os.environ.get("FORCE_COLOR"):
        colour = True
    if os.environ.get("NO_COLOR"):
        colour = False
    return Style(colour, _columns() if terminal else 0)


def _columns() -> int:
    import shutil

    return max(40, shutil.get_terminal_size((100, 24)).columns)
