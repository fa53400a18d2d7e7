"""Evaluations: what a model that trains elsewhere in the program computes, and no gradient comes of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.ir.syntax import FUNCTIONS, Site
from gclint.run.closures import enclosing_function
from gclint.run.events import Backward, Forward
from gclint.run.guards import satisfiable
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, sources


def untrained(run: Run) -> Iterator[Forward]:
    """The forwards in a loop without a step, of models that train elsewhere, by which no backward goes and from whose
    results none is computed.
    """
    used = {item for each in run.of_type(Backward) for item in each.forwards}
    trained = {item.attributes["of"].only() for item in used}
    steps = {loop for each in run.of_type(Backward) for loop in each.moment.loops}
    for forward in run.of_type(Forward):
        if forward.activation is None or forward.activation in used or forward.model not in trained:
            continue
        outside = not steps.issuperset(forward.moment.loops) and satisfiable(forward.guard)
        if outside and not _is_trained_on(forward, run):
            yield forward


def _is_trained_on(forward: Forward, run: Run) -> bool:
    """Whether what a forward gave goes into a loss of the same round, as a sample does that is drawn step by step."""
    assert forward.activation is not None
    given = set(forward.activation.attributes.get("given", NOTHING).objects())
    around = forward.moment.loops
    rounds = [each for each in run.of_type(Backward) if each.moment.loops and each.moment.loops[:1] == around[:1]]
    return bool(given) and any(given & sources(each.loss, len(run.heap)) for each in rounds)


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
