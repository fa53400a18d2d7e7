"""How wide text is on a terminal, and lines cut and wrapped by that measure."""

from __future__ import annotations

from gclint.report.escape import printable

TAB = 4


def width_of(text: str) -> int:
    """Return how many columns `text` (without tabs) takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # here, since most code is ASCII

    return cell_len(text)


def on_screen(line: str) -> str:
    """Return `line` as it is printed: tabs as spaces, control characters as escapes."""
    return printable(line.expandtabs(TAB))


def columns_before(line: str, column: int) -> int:
    """Return how many terminal columns of `line` lie before `column` (from 1, in code points)."""
    return width_of(on_screen(line[: column - 1]))


def wrapped(text: str, width: int, indent: str = "", taken: int = 0) -> str:
    """Return `text` broken at spaces to `width` columns (0: never), of which the first line finds so many `taken`
    and the following ones are led by `indent`.
    """
    if not width or taken + width_of(text) <= width:
        return text
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and width_of(longer) > width - (len(indent) if lines else taken):
            lines.append(line)
            line = word
        else:
            line = longer
    return ("\n" + indent).join([*lines, line])
