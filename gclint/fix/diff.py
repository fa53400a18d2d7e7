"""Unified diffs of what a fix would write; a notebook's by cell."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence

from gclint.report.escape import printable
from gclint.report.style import Style
from gclint.source.lines import split_lines
from gclint.source.source import Source

CONTEXT = 3
MOST_LINES = 5_000
NO_NEWLINE = "\\ No newline at end of file\n"


def unified(before: Source, after: Source) -> str:
    """Return the unified diff from `before` to `after` (the same file), "" where the text is the same."""
    pieces: list[str] = []
    for name, old, new in _pairs(before, after):
        pieces += _hunks(printable(name), old, new)
    return "".join(pieces)


def unified_all(changes: Iterable[tuple[Source, Source]]) -> str:
    """Return the diffs of all changed files, in order of path."""
    return "".join(unified(before, after) for before, after in sorted(changes, key=lambda pair: pair[0].path))


def painted(diff: str, style: Style) -> str:
    """Return a diff in the colours that git gives it."""
    return "".join(style.paint(line, *_colours(line)) + "\n" for line in diff.split("\n")[:-1])


def _colours(line: str) -> tuple[str, ...]:
    if line.startswith(("--- ", "+++ ")):
        return ("bold",)
    return {"@": ("cyan",), "-": ("red",), "+": ("green",)}.get(line[:1], ())


def _hunks(name: str, old: str, new: str) -> Iterator[str]:
    yield from unified_lines(_shown(old), _shown(new), name)


def unified_lines(old: Sequence[str], new: Sequence[str], name: str) -> Iterator[str]:
    """Yield the unified diff of the lines of a file, nothing where they are the same.

    As `difflib.unified_diff`, which takes frequent lines for junk and tells more than was changed.
    """
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=max(len(old), len(new)) > MOST_LINES)
    for number, group in enumerate(matcher.get_grouped_opcodes(CONTEXT)):
        if not number:
            yield from (f"--- a/{name}\n", f"+++ b/{name}\n")
        (_, first, _, start, _), (_, _, last, _, end) = group[0], group[-1]
        yield f"@@ -{_range(first, last)} +{_range(start, end)} @@\n"
        for tag, i, j, k, m in group:
            sides = [(" ", old[i:j])] if tag == "equal" else [("-", old[i:j]), ("+", new[k:m])]
            for sign, lines in sides:
                yield from (sign + (line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}") for line in lines)


def _range(start: int, end: int) -> str:
    if end - start == 1:
        return str(start + 1)
    return f"{start + (end > start)},{end - start}"


def _shown(text: str) -> list[str]:
    """Return the lines with LF for a CR, so that a terminal is not written over; CRLF files stay
    readable.
    """
    return [line.rstrip("\r\n") + "\n" if line[-1] in "\r\n" else line for line in split_lines(text)]


def _pairs(before: Source, after: Source) -> Iterator[tuple[str, str, str]]:
    if before.notebook is None or after.notebook is None:
        yield before.path, before.text, after.text
        return
    for old, new in zip(before.notebook.parts, after.notebook.parts, strict=True):
        if old.cell.source != new.cell.source:
            yield f"{before.path}:cell {old.cell.number}", old.cell.source, new.cell.source
