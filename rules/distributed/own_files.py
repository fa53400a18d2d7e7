"""Paths that are the same in all processes of a run."""

from __future__ import annotations

import ast

from gclint.run.ranks import numbers
from gclint.run.run import Run
from gclint.run.values import Const, External, Object, Value, made_from, sources

from ..writes import OF_NOW, is_given_by

NOWHERE = (External("os.devnull"), Const("/dev/null"))
OF_EACH = (*OF_NOW, "socket.", "os.getpid", "io.")
"""What gives each process something of its own."""


def is_of_all(path: Value, run: Run) -> bool:
    """Whether a path is the same in all processes, for all that is known."""
    parts = sources(path)
    if not path or not parts.isdisjoint(numbers(run)) or any(item in NOWHERE for _, item in path):
        return False
    return not any(_may_differ(part, run) for part in parts)


def _may_differ(part: Object, run: Run) -> bool:
    """Whether something may be another one in each process: it is computed from data, or nobody knows how, or read off
    a library's model, or what a function is given that nobody calls.
    """
    if part.site is not None and isinstance(part.site.node, ast.arg):
        return True
    given = is_given_by(part, OF_EACH, run) or bool(part.origins)
    return given or part.kind in ("part", "data") or _is_of_anybody(part)


def _is_of_anybody(part: Object) -> bool:
    """Whether something is the result of code that nobody knows, and not only computed from such a result, or what a
    method of Python's texts gives, which is no more than what it is called on.
    """
    if "foreign" not in part.state or any("foreign" in each.state for each in made_from(part)):
        return False
    call = part.site.node if part.site is not None else None
    method = call.func if isinstance(call, ast.Call) else None
    return not (isinstance(method, ast.Attribute) and hasattr(str, method.attr))
