"""Expectations that travel: every `# expect: CODE` gets a number, and rewrites carry or copy it.

`# expect: GCL201@3` at the end of a line marks that line, `# below: GCL201@3` on a line of its own the next line of
code. A number may stand in several places (the old one of a moved value and its new one); a finding at any of
them keeps the expectation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

_PLAIN = re.compile(r"(#\s*expect:\s*)([A-Z0-9, ]+)")
_MARK = re.compile(r"#\s*(expect|below):\s*([A-Z0-9@, ]+)")
Mark = tuple[str, int]


def numbered(text: str) -> str:
    """The text with a number at every expected code."""
    count = 0

    def number(match: re.Match[str]) -> str:
        nonlocal count
        parts = []
        for code in match.group(2).split(","):
            if code.strip():
                count += 1
                parts.append(f"{code.strip()}@{count}")
        return match.group(1) + ", ".join(parts)

    return _PLAIN.sub(number, text)


def marks_by_line(text: str) -> dict[int, set[Mark]]:
    """The expectations of every line that bears one."""
    found: dict[int, set[Mark]] = {}
    waiting: set[Mark] = set()
    for number, line in enumerate(text.splitlines(), 1):
        own_line = line.strip()
        for kind, listed in _MARK.findall(line):
            marks = set(_read(listed))
            if kind == "below":
                waiting |= marks
            else:
                found.setdefault(number, set()).update(marks)
        if own_line and not own_line.startswith("#") and waiting:
            found.setdefault(number, set()).update(waiting)
            waiting = set()
    return found


def _read(listed: str) -> Iterator[Mark]:
    for part in listed.split(","):
        code, _, number = part.strip().partition("@")
        if code and number:
            yield code, int(number)


def below(marks: Iterable[Mark]) -> str:
    """The comment line that marks the next line of code; "" without marks."""
    listed = ", ".join(f"{code}@{number}" for code, number in sorted(marks))
    return f"# below: {listed}" if listed else ""


class Marked:
    """The expectations of a tree's nodes, by the line on which each begins."""

    def __init__(self, tree: cst.Module):
        self._lines = marks_by_line(tree.code)
        self._positions = MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider)

    def line(self, node: cst.CSTNode) -> int:
        """The line on which a node begins."""
        return self._positions[node].start.line

    def at(self, node: cst.CSTNode) -> set[Mark]:
        """The expectations of the line on which a node begins."""
        return self._lines.get(self.line(node), set())


def judged(texts: Mapping[str, str], found: Iterable[tuple[str, int, str]]) -> tuple[set[Mark], list[str]]:
    """The expectations that were met, and what was found besides, for findings as (file, line, code)."""
    places = {name: marks_by_line(text) for name, text in texts.items()}
    kept: set[Mark] = set()
    other = []
    for name, line, code in found:
        marks = {mark for mark in places.get(name, {}).get(line, set()) if mark[0] == code}
        kept |= marks
        if not marks:
            other.append(f"{name}:{line} {code}")
    return kept, other


def all_marks(texts: Mapping[str, str]) -> set[Mark]:
    """Every expectation in the texts."""
    return {mark for text in texts.values() for marks in marks_by_line(text).values() for mark in marks}
