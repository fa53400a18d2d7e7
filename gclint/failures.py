"""Failures of gclint's own parts: each named, with the place in the code that was being read; the rest goes on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any

from .finding import Location


@dataclass(frozen=True)
class Problem:
    """Something that could not be judged: where, what, and what to do."""

    path: str
    line: int
    what: str
    remedy: str = ""


def failure(part: str, error: Exception, place: Location) -> Problem:
    """What is said where a part, such as "rule GCL201", raised while it was asked about a place.

    Raises the error itself where the environment has `GCLINT_TRACEBACK`.
    """
    if os.environ.get("GCLINT_TRACEBACK"):
        raise error
    return Problem(place.path, place.line, f"{part} failed: {_told(error)}", "report it; the others went on")


def unloaded(part: str, error: Exception) -> Problem:
    """What is said where a part, such as "rule pack theirs", cannot be imported; raises as `failure` does."""
    if os.environ.get("GCLINT_TRACEBACK"):
        raise error
    return Problem("", 1, f"{part} cannot be imported: {_told(error)}", "repair or uninstall it; the others went on")


def raised_at(error: BaseException) -> str:
    """The file and line that raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "an unknown place"


@cache
def going_on(part: str, handler: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of a framework, which knows nothing (None) where it raises: the run's failures have it.

    It is given a call or an interpreter first, and last, where it is given one, the site or node it is asked about.
    """

    @wraps(handler)
    def handled(first: Any, *others: Any) -> Any:
        try:
            return handler(first, *others)
        except Exception as error:
            it = getattr(first, "it", first)
            asked = others[-1] if others else it.module.tree if it is first else first.site
            site = asked if hasattr(asked, "location") else it.site(asked)
            it.run.failures[failure(part, error, site.location())] = None
            return None

    return handled


def _told(error: Exception) -> str:
    return f"{' '.join(repr(error).split())} (at {raised_at(error)})"
