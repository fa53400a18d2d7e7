"""The places of an edit: the statements that differ between two texts of one file."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Collection

IMPORT = re.compile(r"\s*(?:import|from)\s")


def edited_lines(text: str, other: str) -> list[tuple[int, int]]:
    """Return first and last line (from 1) of every statement of `text` that `other` has otherwise, or lacks.

    Imports, which run whatever becomes of the rest, count where nothing else was edited. A text that does not parse
    gives the lines themselves.
    """
    mine, theirs = text.splitlines(), other.splitlines()
    changed: set[int] = set()
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if kind != "equal":
            changed.update(range(start + 1, end + 1))
    places = sorted({_statement(text, line) for line in changed if mine[line - 1].strip()})
    return [place for place in places if not IMPORT.match(mine[place[0] - 1])] or places


def executed_any(places: Collection[tuple[int, int]], lines: Collection[int]) -> bool:
    """Whether one of the executed lines lies in one of the places."""
    return any(first <= line <= last for first, last in places for line in lines)


def _statement(text: str, line: int) -> tuple[int, int]:
    """The smallest statement around a line; of a compound one its header."""
    best = (line, line)
    size = 1 << 30
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return best
    for node in nodes:
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
        if node.lineno <= line <= last and last - node.lineno < size:
            best, size = (node.lineno, max(last, node.lineno)), last - node.lineno
    return best
