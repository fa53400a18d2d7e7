"""# eval-not-left (GCL708)

## What it does
Finds loops that train a model and evaluate it, and never put it back into training mode.

## Why it breaks
`eval()` holds until `train()` is called. After the first evaluation in the loop the model trains without dropout and
with batch norm's running statistics, which no longer move. Nothing is raised, and the loss even looks better.

## Example
```python
model.train()
for epoch in range(epochs):
    for batch in loader:
        step(model, batch)
    evaluate(model)  # calls model.eval()
```

## Use instead
```python
for epoch in range(epochs):
    model.train()
    for batch in loader:
        step(model, batch)
    evaluate(model)
```

## When it is fine
`train()` at the head of the round or after the evaluation, also in a helper; `eval()` of frozen parts only, or right
before the steps or their loop, for the steps themselves; a loop that ends with its evaluation; a switch after which
another one comes in every round, which is then the one to blame; a model in which no layer has a mode.

## Evidence
torch 2.13.0: of a Sequential with Dropout, `training` is True in the steps of the first epoch and False in all others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gclint.finding import Aspect, Finding, Fix
from gclint.frameworks.torch_modules import PARAMETRIC, trainable
from gclint.frameworks.torch_states import is_inside, mode_set
from gclint.ir.syntax import LOOPS, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import (
    AttributeSet,
    Backward,
    Event,
    Forward,
    GradientsCleared,
    LibraryCall,
    Loop,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
)
from gclint.run.guards import Guard, conj, satisfiable
from gclint.run.parallel import forwards_of, inside, models_of
from gclint.run.parts_of_guards import covers
from gclint.run.run import Run
from gclint.run.stepping import together
from gclint.run.values import NOTHING, Object, Value, root

from ..words import BACKWARD
from .modes import called_as, has_mode, where_it_may_have_mode
from .rounds import comes_again, is_new, way_to

CHANGES: tuple[Aspect, ...] = ("modes", "random", "loss", "gradients", "updates", "buffers")
rule = Rule(
    code="GCL708",
    name="eval-not-left",
    docs=__doc__ or "",
    words=((".eval",), BACKWARD),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("evaluating",),
    reproduction=Reproduction("bad_epochs.py", "bad_epochs.fixed.py", intent=CHANGES),
)


@rule.on(RunEnded)
def trains_on(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a model trained in a loop that puts it into evaluation mode and never back?"""
    if not event.whole or not run.of_type(OptimizerStep):
        return  # gradients alone, as those that are looked at, train nothing
    modes = [each for each in run.of_type(LibraryCall) if each.name.endswith((".eval", ".train"))]
    built = run.of_type(OptimizerBuilt)
    moved = {model for each in built for model in models_of(each.parameters)}
    if built and all(_are_loose(each.parameters) for each in built):
        return
    told: set[int] = set()
    by_model: dict[Object, _Modes] = {}
    tried = _tried(run)
    for backward in run.of_type(Backward):
        for forward in forwards_of(backward, run):
            if not _is_stepped(backward, forward.model, run):
                continue
            if forward.model not in by_model:
                known = modes if _learns(forward.model, moved) else []
                by_model[forward.model] = _modes_of(forward.model, known, tried, run)
            of_model = by_model[forward.model]
            for left in of_model.left:
                loop = _loop_of(forward, left)
                if loop is None or not isinstance(loop.node, LOOPS) or left.site.node_id in told:
                    continue
                if _returns(forward, left, loop, of_model, run) or not comes_again(left, loop.node):
                    continue
                if any(_comes_later(other, left, forward, loop, run) for other in of_model.left):
                    continue
                if is_new(forward.model, forward, loop.node):
                    continue
                sure = has_mode(forward.model, run)
                guard = _with_a_mode(left, inside(forward.model), sure, run)
                if guard is None or not together(forward, left):
                    continue
                told.add(left.site.node_id)
                yield rule.finding(
                    run,
                    left.site,
                    "the loop goes on to train this model in evaluation mode",
                    guard=guard,
                    certainty="fails" if sure else "fragile",
                    symptom="silent: from then on it trains without dropout and with fixed statistics",
                    related=[(forward.site, "it is trained here")],
                    fixes=(_back(forward, loop.node),),
                )


def _with_a_mode(left: LibraryCall, model: Object, sure: bool | None, run: Run) -> Guard | None:
    """The guard of a switch, and that under which something of a model may have a mode; None where nothing has."""
    if sure:
        return left.guard
    both = (conj(left.guard, each) for each in where_it_may_have_mode(model, run))
    return min((each for each in both if each is not None and satisfiable(each)), key=len, default=None)


def _is_stepped(backward: Backward, model: Object, run: Run) -> bool:
    """Whether an optimizer may step by the gradients of a backward: they are not cleared before, and looked at only."""
    steps, loops = run.of_type(OptimizerStep), backward.moment.loops
    if loops and any(loops[-1] in each.moment.loops for each in steps):
        return True
    used = [each for each in steps if not _held(each.optimizer) or _is_of(each.optimizer, model)]
    cleared = [each for each in run.of_type(GradientsCleared) if _is_of(each.target, model)]
    ordered = sorted((*used, *cleared), key=run.place)
    later = [each for each in ordered if run.place(each) > run.place(backward)]
    around = [[each for each in held if loops and loops[0] in each.moment.loops] for held in (later, ordered)]
    following = next((each for held in (*around, later) for each in held), None)  # in this round, the next, or after it
    return not isinstance(following, GradientsCleared)


def _held(optimizer: Object) -> list[Object]:
    return models_of(optimizer.attributes.get("params", NOTHING))


def _is_of(target: Object, model: Object) -> bool:
    """Whether an optimizer holds a model, or something is the model."""
    held = _held(target) if target.kind == "optimizer" else [inside(target)]
    return any(root(each) is root(inside(model)) for each in held)


def _learns(model: Object, moved: set[Object]) -> bool:
    """Whether a model may have parameters that train, those of known optimizers if there are such."""
    if moved and root(inside(model)) not in moved:
        return False
    return trainable(model) != "none" and (model.kind != "layer" or model.class_name in PARAMETRIC)


def _are_loose(parameters: Value) -> bool:
    """Whether an optimizer is given nothing but tensors that no model has, such as an input that is optimized."""
    held = parameters.objects()
    single = [item for item in held if not item.items]
    lists = [value for item in held for value in item.items or []]
    loose = all(item.kind in ("parameter", "tensor") and item.parent is None for item in single)
    return bool(held) and loose and all(_are_loose(value) for value in lists)


def _loop_of(first: Event, second: Event) -> Loop | None:
    """The innermost loop around both."""
    loop = None
    for one, other in zip(first.moment.loops, second.moment.loops, strict=False):
        if one is not other or way_to(first, one.node) != way_to(second, one.node):
            break
        loop = one
    return loop


def _evaluates(left: LibraryCall, model: Object) -> bool:
    """Whether a call puts the model as a whole into evaluation mode."""
    held = left.call.receiver if left.call is not None else None
    return held is not None and mode_set(left, model) is False and is_inside(model, held)


class _Modes(NamedTuple):
    """Where a model as a whole is put into evaluation mode (`left`), where it or a part of it is put back, and the
    forwards by which it is `tried`, not trained.
    """

    left: list[LibraryCall]
    back: list[Event]
    tried: list[Forward]


def _modes_of(model: Object, modes: list[LibraryCall], tried: dict[Object, list[Forward]], run: Run) -> _Modes:
    back: list[Event] = [each for each in modes if mode_set(each, model)]
    back += [each for each in run.of_type(AttributeSet) if each.name == "training"]
    return _Modes([each for each in modes if _evaluates(each, model)], back, tried.get(model, []))


def _returns(forward: Forward, left: LibraryCall, loop: Loop, modes: _Modes, run: Run) -> bool:
    """Whether something in the loop puts the model, or a part of it, back before it is trained again, or puts it into
    evaluation mode for the steps themselves.
    """
    start, end = run.place(forward), run.place(left)
    if any(covers(each.guard, left.guard) and _is_for_the_steps(each, forward, modes, run) for each in modes.left):
        return True
    places = [run.place(each) for each in modes.back if loop in each.moment.loops]
    if end < start:
        return any(end < place < start for place in places)
    pretrained = inside(forward.model).known("pretrained").constant() is True
    return any(place < start or place > end for place in places) or (pretrained and not modes.back)


def _is_for_the_steps(switch: LibraryCall, forward: Forward, modes: _Modes, run: Run) -> bool:
    """Whether a switch into evaluation mode stands before the steps, or before the loop of them, for all of which it
    holds: nothing is evaluated between, nothing puts the model back. What is evaluated in the loop of the steps, such
    as the search for hard examples, is part of them.
    """
    around, start, end = switch.moment.loops, run.place(switch), run.place(forward)
    if start > end or around != forward.moment.loops[: len(around)]:
        return False
    steps = forward.moment.loops[len(around) : len(around) + 1]
    tried = [each for each in modes.tried if start < run.place(each) < end]
    if not all(steps and steps[0] in each.moment.loops for each in tried):
        return False
    later = [each for each in modes.back if run.place(each) > start]
    return not any(run.place(each) < end or (steps and steps[0] in each.moment.loops) for each in later)


def _comes_later(other: LibraryCall, left: LibraryCall, forward: Forward, loop: Loop, run: Run) -> bool:
    """Whether another switch comes, in every round that trains, after this one and before the model is trained again:
    it is that one which decides.
    """
    start, end, place = run.place(forward), run.place(left), run.place(other)
    around = other.moment.loops
    if loop not in around or around != forward.moment.loops[: len(around)] or not covers(other.guard, forward.guard):
        return False
    return end < place < start if end < start else place < start or place > end


def _tried(run: Run) -> dict[Object, list[Forward]]:
    """The forwards of each model by which no backward goes, in order."""
    trained = {item for each in run.of_type(Backward) for item in each.forwards}
    found: dict[Object, list[Forward]] = {}
    for each in run.of_type(Forward):
        if each.activation not in trained:
            found.setdefault(each.model, []).append(each)
    return found


def _back(forward: Forward, loop: ast.AST) -> Fix | None:
    """Put the model into training mode before what trains it in the loop."""
    site, body = forward.site, getattr(loop, "body", None)
    name, around = called_as(site), list(site.module.ancestors(site.node))
    if not body or not name or loop not in around:
        return None
    held = [site.node, *around]
    first = next((each for each in body if each in held), None)
    if first is None:
        return None
    edit = rewrite.insert_before(Site.at(site.module, first), f"{name}.train()")
    return Fix("train", "Put it back before it is trained", (edit,), "unsafe", intent=CHANGES) if edit else None
