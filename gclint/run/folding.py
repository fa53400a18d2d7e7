"""Folding: what Python computes from literals, computed by Python; what that raises is raised in the run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from .guards import Guard, all_of
from .jumps import leave_under
from .release import Release
from .values import Alternative, Const, External, Object, Value, of

if TYPE_CHECKING:
    from .interpreter import Interpreter

MOST_WAYS = 24
LONGEST = 10_000


def folded(it: Interpreter, compute: Callable[..., Any], inputs: Sequence[Value]) -> Value | None:
    """What a pure function makes of literals, for each combination of them; None where one is no literal, or the result
    is none.
    """
    ways = 1
    for value in inputs:
        ways *= len(value.alternatives)
        if not all(_is_plain(item) for _, item in value):
            return None
    if not inputs or not 0 < ways <= MOST_WAYS:
        return None
    found: list[tuple[Guard, Alternative]] = []
    for combination in product(*inputs):
        guard = all_of([it.guard, *(held for held, _ in combination)])
        if guard is None:
            continue
        try:
            made = compute(*(item.value for _, item in combination if isinstance(item, Const)))
        except Exception as error:
            leave_under(it, guard - it.guard, of(External(f"builtins.{type(error).__name__}")))
            continue
        if not (made is None or isinstance(made, (bool, int, float, str))) or (
            isinstance(made, str) and len(made) > LONGEST
        ):
            return None
        found.append((guard - it.guard if len(combination) > 1 else combination[0][0], Const(made)))
    return Value(found) if found or it.is_dead else None


def apart(value: Value) -> tuple[Value, Value]:
    """The literals among what a value can be, and the rest."""
    literals = Value(pair for pair in value if _is_plain(pair[1]))
    return literals, Value(pair for pair in value if not _is_plain(pair[1]))


def _is_plain(item: Alternative) -> bool:
    return isinstance(item, Const) and not isinstance(item.value, Release) and not isinstance(item.value, bytes)


def beginning(text: Alternative) -> str:
    """How a text surely begins that is put together of parts, as `f"models.{name}"` or `"small_" + name`; "" where that
    is not known.
    """
    node = text.site.node if isinstance(text, Object) and text.made_of and text.site is not None else None
    if not isinstance(text, Object) or not (_adds(node) or _starts_plainly(node)):
        return ""
    first = text.made_of[0].only()
    if isinstance(first, Const):
        return first.value if isinstance(first.value, str) else ""
    return beginning(first) if first is not None else ""


def _adds(node: ast.AST | None) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)


def _starts_plainly(node: ast.AST | None) -> bool:
    """Whether a formatted text begins with its first part as it is, without a conversion or a format of its own."""
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else None
    if isinstance(first, ast.FormattedValue):
        return first.conversion == -1 and first.format_spec is None
    return first is not None
