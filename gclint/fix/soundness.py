"""Whether an edited text still is what it was, except where it was edited."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import accumulate

from gclint.fix.edits import Span
from gclint.source.lines import line_starts, split_lines
from gclint.source.syntax import syntax_error, tree_of

Range = tuple[int, int]
Statement = tuple[int, str]


class Unsound(ValueError):
    """An edited text that does not parse, or that changes statements which no edit touches."""


def check_sound(old: str, new: str, spans: Sequence[Span]) -> None:
    """Raise `Unsound` unless `new`, made from `old` by `spans`, parses and differs only where it was
    edited.

    Statements that no span touches must be the same, in the same order and at the same depth.
    """
    wrong = syntax_error(new)
    if wrong:
        raise Unsound(f"line {wrong.line} would not parse: {wrong.message}")
    try:
        before, after = tree_of(old), tree_of(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    touched_before = [(span.start, span.end) for span in spans]
    if _untouched(before, old, touched_before) != _untouched(after, new, _ranges_after(spans)):
        raise Unsound("statements outside the edit would change")


def _ranges_after(spans: Sequence[Span]) -> list[Range]:
    shifts = accumulate((len(span.text) - (span.end - span.start) for span in spans), initial=0)
    return [
        (span.start + shift, span.start + shift + len(span.text)) for span, shift in zip(spans, shifts, strict=False)
    ]


def _untouched(tree: ast.Module, text: str, touched: Sequence[Range]) -> list[Statement]:
    starts, lines = line_starts(text), split_lines(text)

    def offset(line: int, column: int) -> int:
        before = lines[line - 1].encode()[:column].decode(errors="ignore") if line <= len(lines) else ""
        return starts[line - 1] + len(before)

    def free(statement: ast.stmt) -> bool:
        decorators = getattr(statement, "decorator_list", None)  # what can have one begins its line
        first = min([statement.lineno, *(item.lineno for item in decorators or ())])
        start = offset(statement.lineno, statement.col_offset) if decorators is None else starts[first - 1]
        end = offset(statement.end_lineno or first, statement.end_col_offset or 0)
        return all(end < low or high < start for low, high in touched)

    found: list[Statement] = []
    todo = [(0, statement) for statement in reversed(tree.body)]
    while todo:
        depth, statement = todo.pop()
        if free(statement):
            found.append((depth, ast.dump(statement)))
        else:
            todo += [(depth + 1, inner) for inner in reversed(list(_inner(statement)))]
    return found


def _inner(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements directly inside `node`: of its blocks, handlers and cases."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from _inner(child)
