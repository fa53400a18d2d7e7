"""# evaluated-in-training-mode (GCL718)

## What it does
Finds evaluations of a model that is still in the training mode of the steps before, or, in a program that only tests,
of one whose weights are loaded and that nothing puts into evaluation mode.

## Why it breaks
Dropout goes on to drop, so that each evaluation gives other and lower numbers. Batch norm computes with the statistics
of each batch, so that a result hangs on what else is in it, and learns from the data of the evaluation: what is kept as
the best model is chosen by such numbers, and has seen the data that it is judged by. `torch.no_grad()` changes nothing
of that. Nothing is raised.

## Example
```python
for epoch in range(epochs):
    for x, y in train_loader:
        step(model, x, y)
    with torch.no_grad():
        for x, y in val_loader:
            correct += (model(x).argmax(1) == y).sum()
```

## Use instead
```python
    model.eval()
    with torch.no_grad():
        for x, y in val_loader:
            correct += (model(x).argmax(1) == y).sum()
    model.train()
```

## When it is fine
`eval()` on the way to it; a model without dropout and running statistics; `train()` that is called for what follows, as
for several draws with dropout, or for new statistics of batch norm; outputs that nobody uses; what is computed within
the steps themselves, as a target or a sample; what comes before all training; in a program that only tests a model with
fresh weights, or once, for the shape of what it gives.

## Evidence
torch 2.13.0: two evaluations of one model with Dropout give different numbers, and one under `torch.no_grad()` moves
`running_mean` of a BatchNorm1d. What `load_from_checkpoint` gives is in training mode
(lightning/pytorch/core/saving.py). https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.frameworks.torch_states import is_inside, mode_set
from gclint.ir.syntax import LOOPS, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import Backward, Forward, LibraryCall, RunEnded, StateDictLoaded
from gclint.run.guards import Guard
from gclint.run.parallel import inside, trained
from gclint.run.run import Run, together
from gclint.run.stepping import receiver_text
from gclint.run.values import NOTHING, Object, made_from, root

from ..evaluations import callers, from_outside, is_in_mode, only_tested, untrained
from ..forwards.resumed import file_of
from ..words import BACKWARD, STEP
from .modes import called_as, has_mode, is_own, where_it_has_mode

LOADS = ("load_state_dict", "load_from_checkpoint")
SHAPE = ("shape", "size", "dim", "ndim", "numel", "dtype", "device")
CHANGES: tuple[Aspect, ...] = ("modes", "random", "buffers")

rule = Rule(
    code="GCL718",
    name="evaluated-in-training-mode",
    docs=__doc__ or "",
    words=((*BACKWARD, *LOADS), (*STEP, *LOADS)),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("evaluating",),
    reproduction=Reproduction(
        "bad_epochs.py", "bad_epochs.fixed.py", raises="AssertionError: two evaluations differ", intent=CHANGES
    ),
)


@rule.on(RunEnded)
def evaluates(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a model evaluated in the mode in which it was trained just before?"""
    if not event.whole or any(not each.forwards for each in run.of_type(Backward)):
        return
    modes = [each for each in run.of_type(LibraryCall) if each.name.endswith((".eval", ".train"))]
    for forward in untrained(run):
        steps = _steps_before(forward, modes, run)
        if not steps or not forward.moment.result_used or not _trains(forward, modes, run):
            continue
        if _has_a_part_in_evaluation(forward, modes, run):
            continue  # it may be all that has a mode
        site = from_outside(forward)
        if not (_may_differ(forward.called, run) and _may_differ(forward.model, run)):
            continue
        yield rule.finding(
            run,
            site,
            "this evaluates the model in the mode of its training: nothing calls `eval()` before",
            guard=forward.guard,
            certainty="fragile",
            symptom="silent: dropout drops, and batch norm learns from the data of the evaluation",
            related=[(steps[-1].site, "it is trained here")],
            fixes=(_in_evaluation(forward, steps, modes),),
        )


@rule.on(RunEnded)
def tests(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a program that only tests run a model with the weights of a file in the mode in which it was made?"""
    if not event.whole:
        return
    modes = [each for each in run.of_type(LibraryCall) if each.name.endswith((".eval", ".train"))]
    told = set[Object]()
    for forward in only_tested(run, alone=True):
        load = _filled(forward, run)
        guard = together(load.guard, forward.guard) if load is not None else None
        if load is None or guard is None or forward.model in told or not forward.moment.result_used:
            continue
        if not forward.moment.loops and not _is_looked_at(forward, run):
            continue
        known = forward.activation is not None and bool(forward.activation.known("training"))
        if known or not _never_set(forward, modes, run):
            continue
        guard = _with_a_mode(guard, inside(forward.model), run)
        if guard is None:
            continue
        told.add(forward.model)
        yield rule.finding(
            run,
            from_outside(forward),
            "this runs the model in the mode of a training: nothing calls `eval()` before",
            guard=guard,
            certainty="fragile",
            symptom="silent: dropout drops, and batch norm takes each batch for its own measure",
            related=[(load.site, "its weights are loaded here")],
            fixes=(_after_loading(load),),
        )


def _filled(forward: Forward, run: Run) -> StateDictLoaded | None:
    """Where a model got what stands in a file, before a forward."""
    for load in run.of_type(StateDictLoaded):
        models = {inside(root(item)) for item in load.target.objects()}
        if inside(forward.model) in models and any(map(file_of, load.source.objects())):
            return load if run.place(load) < run.place(forward) else None
    return None


def _with_a_mode(guard: Guard, model: Object, run: Run) -> Guard | None:
    """The guard, and that of a layer of a model which behaves otherwise in evaluation; None where it has none then."""
    both = (together(guard, each) for each in where_it_has_mode(model, run))
    return min((each for each in both if each is not None), key=len, default=None)


def _is_looked_at(forward: Forward, run: Run) -> bool:
    """Whether more of what a forward gives is asked than its shape."""
    assert forward.activation is not None
    given = {forward.activation, *forward.activation.attributes.get("given", NOTHING).objects()}
    later = run.of_type(LibraryCall, start=run.place(forward) + 1)
    asked = [each.call for each in later if each.call is not None and each.name.rpartition(".")[2] not in SHAPE]
    waiting, seen = [item for call in asked for value in call.inputs() for item in value.objects()], set[Object]()
    while waiting:
        item = waiting.pop()
        if item in given:
            return True
        if item not in seen and not _is_a_shape(item):
            waiting += made_from(item)
        seen.add(item)
    return False


def _is_a_shape(item: Object) -> bool:
    node = item.site.node if item.site is not None else None
    asked = node.func if isinstance(node, ast.Call) else node
    return isinstance(asked, ast.Attribute) and asked.attr in SHAPE


def _after_loading(load: StateDictLoaded) -> Fix | None:
    """Put the model into evaluation mode once it has its weights."""
    node, name = load.site.node, receiver_text(load.site)
    filled = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load_state_dict"
    edit = rewrite.insert_after(load.site, f"{name}.eval()") if name and filled else None
    return Fix("eval", "Evaluate in evaluation mode", (edit,), "unsafe", intent=CHANGES) if edit else None


def _may_differ(model: Object, run: Run) -> bool:
    """Whether a model behaves otherwise in evaluation: a layer of it does where the program made it, and for all that
    is known where a library did.
    """
    known = has_mode(model, run)
    return known is True or (known is None and not is_own(inside(model)) and model.kind != "part")


def _trains(forward: Forward, modes: list[LibraryCall], run: Run) -> bool:
    """Whether a model is in training mode: put into it, or made by the program and never put into another."""
    if forward.activation is not None and forward.activation.known("training"):
        return is_in_mode(forward, training=True)
    return not callers(forward, run) and _never_set(forward, modes, run)


def _never_set(forward: Forward, modes: list[LibraryCall], run: Run) -> bool:
    """Whether a model is made by the program and surely never put into another mode."""
    model = inside(forward.model)
    before = (each.call for each in modes if run.place(each) < run.place(forward))
    held = [inside(root(call.receiver)) for call in before if call is not None and call.receiver is not None]
    called = {inside(each.model) for each in run.of_type(Forward)}
    made = is_own(model) and not model.escaped and "training" not in model.attributes
    return made and all(each in called and is_own(each) and not is_inside(model, each) for each in held)


def _has_a_part_in_evaluation(forward: Forward, modes: list[LibraryCall], run: Run) -> bool:
    """Whether the program put a part of a model into evaluation mode, as its batch norms, and not the whole since."""
    part = False
    for each in modes:
        mode = mode_set(each, forward.model) if run.place(each) < run.place(forward) else None
        held = each.call.receiver if each.call is not None else None
        if mode is not None and held is not None:
            part = not mode and not is_inside(forward.model, held)
    return part


def _steps_before(forward: Forward, modes: list[LibraryCall], run: Run) -> list[Backward]:
    """The backwards that train a model before a forward, since the last call that set its mode, or that of a part."""
    end = run.place(forward)
    calls = (run.place(each) for each in modes if mode_set(each, forward.model) is not None)
    since = max((place for place in calls if place < end), default=-1)
    backwards = (each for each in run.of_type(Backward) if since < run.place(each) < end)
    return [each for each in backwards if forward.model in trained(each)]


def _in_evaluation(forward: Forward, steps: list[Backward], modes: list[LibraryCall]) -> Fix | None:
    """Put what is called into evaluation mode before the loop around it, and back after it, where nothing does that
    before the next steps.
    """
    site, name = forward.site, called_as(forward.site)
    around = [each for each in site.module.ancestors(site.node) if isinstance(each, LOOPS)]
    home = enclosing_function(site.module, site.node)
    own = [each for each in around if enclosing_function(site.module, each) is home]
    inner = [each for each in own if not any(each is loop.node for step in steps for loop in step.moment.loops)]
    if not inner or not name:
        return None
    loop = Site.at(site.module, inner[-1])
    returns = any(
        mode_set(each, forward.model) and set(each.moment.loops) & set(forward.moment.loops) for each in modes
    )
    edits = [rewrite.insert_before(loop, f"{name}.eval()")]
    edits += [] if returns else [rewrite.insert_after(loop, f"{name}.train()")]
    made = [each for each in edits if each is not None]
    whole = len(made) == len(edits)
    return Fix("eval", "Evaluate in evaluation mode", tuple(made), "unsafe", intent=CHANGES) if whole else None
