"""The places of an edit: the statements that differ between two texts of one file."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable

IMPORT = re.compile(r"\s*(?:import|from)\s")


def edited_lines(text: str, other: str) -> list[tuple[int, int]]:
    """Return first and last line (from 1) of every statement of `text` that `other` has otherwise, or lacks.

    Imports, which run whatever becomes of the rest, count where nothing else was edited. A text that does not parse
    gives the lines themselves.
    """
    statements = _statements(text)
    places = sorted({_smallest(statements, line) for line in _changed(text, other)})
    mine = text.splitlines()
    return [place for place in places if not IMPORT.match(mine[place[0] - 1])] or places


def changed_lines(text: str, other: str) -> list[int]:
    """Return the lines (from 1) of those statements that `other` has otherwise, or lacks, in order.

    Of an argument that was only renamed it is the line of the call: its value is no part of the edit.
    """
    places, renamed = edited_lines(text, other), _renamed(text, other)
    found = [line for line in _changed(text, other) if any(first <= line <= last for first, last in places)]
    return sorted({renamed.get(line, line) for line in found})


def _renamed(text: str, other: str) -> dict[int, int]:
    """The lines of arguments whose name alone differs in the place that `other` has for them, with the line of the
    call."""
    mine, theirs = text.splitlines(), other.splitlines()
    pairs: dict[int, int] = {}
    for kind, start, end, first, last in difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if kind == "replace" and end - start == last - first:
            pairs.update(zip(range(start, end), range(first, last), strict=True))
    alike = {line + 1 for line, there in pairs.items() if _value(mine[line]) == _value(theirs[there]) != ""}
    try:
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)] if alike else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {
        each.lineno: call.func.end_lineno or call.lineno
        for call in calls
        for each in call.keywords
        if each.lineno in alike and each.lineno != call.func.end_lineno
    }


def _value(line: str) -> str:
    """What a line of an argument gives it: "" where it is none."""
    found = re.fullmatch(r"\s*\w+\s*=(?!=)(.*)", line)
    return found[1] if found else ""


def _changed(text: str, other: str) -> list[int]:
    """The lines of `text`, blank ones apart, that a comparison with `other` does not find there."""
    mine, theirs = text.splitlines(), other.splitlines()
    changed: list[int] = []
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if kind != "equal":
            changed += [line for line in range(start + 1, end + 1) if mine[line - 1].strip()]
    return changed


def _statements(text: str) -> list[tuple[int, int]]:
    """First and last line of every statement, of a compound one those of its header; [] where it does not parse."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for node in nodes:
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
            found.append((node.lineno, max(last, node.lineno)))
    return found


def _smallest(statements: Iterable[tuple[int, int]], line: int) -> tuple[int, int]:
    """The smallest statement around a line, the line itself where there is none."""
    around = [(first, last) for first, last in statements if first <= line <= last]
    return min(around, key=lambda place: place[1] - place[0], default=(line, line))
