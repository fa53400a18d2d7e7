"""Evaluations: what a model that trains elsewhere in the program computes, and no gradient comes of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.ir.syntax import FUNCTIONS, Site
from gclint.run.closures import enclosing_function
from gclint.run.events import Backward, Forward
from gclint.run.guards import satisfiable
from gclint.run.run import Run, ways
from gclint.run.values import Const


def untrained(run: Run) -> Iterator[Forward]:
    """The forwards in a loop without a step, of models that train elsewhere, by which no backward goes."""
    used = {item for each in run.of_type(Backward) for item in each.forwards}
    trained = {item.attributes["of"].only() for item in used}
    steps = {loop for each in run.of_type(Backward) for loop in each.moment.loops}
    for forward in run.of_type(Forward):
        if forward.activation is None or forward.activation in used or forward.model not in trained:
            continue
        if not steps.issuperset(forward.moment.loops) and satisfiable(forward.guard):
            yield forward


def is_in_mode(forward: Forward, *, training: bool) -> bool:
    """Whether a forward is in that mode in every case in which it is come to."""
    assert forward.activation is not None
    modes = [mode for _, (mode,) in ways(forward.guard, forward.activation.known("training"))]
    return bool(modes) and all(mode == Const(training) for mode in modes)


def from_outside(forward: Forward) -> Site:
    """Where a model is called: of the parts that a method of it calls, where that method is."""
    site = forward.site
    for caller in reversed(forward.moment.stack):
        held = site.module.parents.get(enclosing_function(site.module, site.node))
        names = (
            [each.name for each in held.body if isinstance(each, FUNCTIONS)] if isinstance(held, ast.ClassDef) else []
        )
        if forward.called is forward.model or "forward" not in names:
            break
        site = caller
    return site
