"""Evaluations: what a model that trains elsewhere in the program computes, and no gradient comes of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.frameworks.module_trees import parameters_of
from gclint.ir.layout import value_of
from gclint.ir.syntax import FUNCTIONS, WITHS, Site, arguments
from gclint.run.closures import enclosing_function
from gclint.run.events import (
    Backward,
    Event,
    Forward,
    Generated,
    LibraryCall,
    Loop,
    OptimizerStep,
    StateDictLoaded,
    TrainerStarted,
)
from gclint.run.guards import satisfiable
from gclint.run.parallel import inside
from gclint.run.run import Run, ways
from gclint.run.stepping import walked_alone
from gclint.run.values import NOTHING, Class, Const, Object, sources, union

from .option_names import last_name

PIPELINE = "transformers.pipeline"
MOST_CALLERS = 3
"""How many functions one looks through from one to what calls it."""


def uses_a_model(run: Run) -> bool:
    """Whether a program trains a model, or evaluates one, also by other methods of it than its forward; what is walked
    for its own sake, as no program comes to it, is none.
    """
    if run.beside_programs:
        return False
    known = run.of_type(Backward, TrainerStarted, Forward, Generated, StateDictLoaded)
    return bool(known) or any(each.name == PIPELINE for each in run.of_type(LibraryCall))


def untrained(run: Run, *, alike: bool = False) -> Iterator[Forward]:
    """The forwards in a loop without a step, of models that train elsewhere, by which no backward goes and from whose
    results none is computed; with `alike` also of what is made anew of the project's class of such a model, as by a
    function of the program that only tests.
    """
    used = {item for each in run.of_type(Backward) for item in each.forwards}
    trained = {item.attributes["of"].only() for item in used}
    classes = {inside(each).type for each in trained if isinstance(each, Object)} if alike else set()
    steps = {loop for each in run.of_type(Backward) for loop in each.moment.loops}
    trained_on: dict[Loop, set[Object]] = {}
    for forward in run.of_type(Forward):
        if forward.activation is None or forward.activation in used or _may_be_a_method(forward):
            continue
        of_class = inside(forward.model).type
        if forward.model not in trained and not (isinstance(of_class, Class) and of_class in classes):
            continue
        loops = forward.moment.loops
        if steps.issuperset(loops) or _learns_nothing(forward):
            continue
        given = forward.activation.attributes.get("given", NOTHING).objects()
        if given and loops[0] not in trained_on:
            trained_on[loops[0]] = _trained_on(loops[0], run)
        if (not given or trained_on[loops[0]].isdisjoint(given)) and satisfiable(forward.guard):
            yield forward


def only_tested(run: Run, *, alone: bool = False) -> Iterator[Forward]:
    """The forwards in a loop of a program that never goes backward; one `alone` may only try it out."""
    if not run.is_program or run.of_type(Backward, OptimizerStep):
        return
    for forward in run.of_type(Forward):
        if forward.activation is None or not (alone or forward.moment.loops) or _may_be_a_method(forward):
            continue
        if not _learns_nothing(forward) and satisfiable(forward.guard):
            yield forward


def _learns_nothing(forward: Forward) -> bool:
    """Whether a model surely has no parameters."""
    return forward.call is not None and parameters_of(forward.call.it, inside(forward.model)) == []


def _may_be_a_method(forward: Forward) -> bool:
    """Whether what is called is an attribute that nobody is known to have set, first asked for where it was called: a
    module, or a method.
    """
    made = forward.called.site if forward.called.kind == "part" else None
    call = made.module.parents.get(made.node) if made is not None else None
    return made is not None and isinstance(call, ast.Call) and call.func is made.node


def _trained_on(loop: Loop, run: Run) -> set[Object]:
    """All that the losses of the backwards in a loop are computed from."""
    losses = [each.loss for each in run.of_type(Backward) if each.moment.loops[:1] == (loop,)]
    return sources(union(losses), len(run.heap))


def is_in_mode(forward: Forward, *, training: bool) -> bool:
    """Whether a forward is in that mode in every case in which it is come to."""
    assert forward.activation is not None
    modes = [mode for _, (mode,) in ways(forward.guard, forward.activation.known("training"))]
    return bool(modes) and all(mode == Const(training) for mode in modes)


def callers(event: Event, run: Run) -> list[Site]:
    """The calls, by its name, of the definition in which something happens that no program comes to."""
    alone = walked_alone(event)
    return list(_calls_of(alone.name, run)) if isinstance(alone, FUNCTIONS) else []


def _calls_of(name: str, run: Run) -> Iterator[Site]:
    for module in dict.fromkeys([*run.modules_with(name), *run.beside_with(name)]):
        for node in module.parents:
            if isinstance(node, ast.Call) and last_name(node.func) == name:
                yield Site.at(module, node)


def records_nothing(call: Site, run: Run, depth: int = MOST_CALLERS) -> bool:
    """Whether a call stands where autograd records nothing: in a block, or in a function that is decorated so or that
    is called in such places alone.
    """
    for outer in call.module.ancestors(call.node):
        held = outer.items if isinstance(outer, WITHS) else ()
        if any(_turns_off(item.context_expr) for item in held):
            return True
        if isinstance(outer, FUNCTIONS):
            calls = list(_calls_of(outer.name, run)) if depth else []
            around = bool(calls) and all(records_nothing(each, run, depth - 1) for each in calls)
            return around or any(map(_turns_off, outer.decorator_list))
    return False


def _turns_off(node: ast.expr) -> bool:
    """Whether a block or a decorator keeps autograd from recording; one that is told by something else may."""
    called = last_name(node.func if isinstance(node, ast.Call) else node)
    given = arguments(node) if isinstance(node, ast.Call) else []
    told = [value_of(each) for each in given]
    if called == "set_grad_enabled":
        return not any(isinstance(each, ast.Constant) and each.value for each in told)
    return called in ("no_grad", "inference_mode")


def from_outside(forward: Forward) -> Site:
    """Where a model is called: of itself or the parts that a method of it calls, where that method is."""
    site = forward.site
    for caller in reversed(forward.moment.stack):
        held = site.module.parents.get(enclosing_function(site.module, site.node))
        names = (
            [each.name for each in held.body if isinstance(each, FUNCTIONS)] if isinstance(held, ast.ClassDef) else []
        )
        called = inside(forward.model).type
        own = isinstance(called, Class) and any(
            each.node is held for each in called.ancestry() if isinstance(each, Class)
        )
        if (forward.called is forward.model and not own) or "forward" not in names:
            break
        site = caller
    return site
