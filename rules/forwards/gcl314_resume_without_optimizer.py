"""# resume-without-optimizer (GCL314)

## What it does
Finds trainings that go on from a file of their own and leave the state of the optimizer, the schedule or the gradient
scaler in it, or have it saved nowhere, and schedules that are told a `last_epoch` over a new optimizer.

## Why it breaks
Adam begins with no moments, and a schedule at its first learning rate: the resumed run is another one than that which
was interrupted, and nothing is raised. A schedule that is told where it stands asks the optimizer for the learning rate
that it began with, which only a loaded state has: KeyError.

## Example
```python
saved = torch.load("last.pt")
model.load_state_dict(saved["model"])
for epoch in range(saved["epoch"], epochs):
    train(model, optimizer)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}, "last.pt")
```

## Use instead
```python
model.load_state_dict(saved["model"])
optimizer.load_state_dict(saved["optimizer"])
```

## When it is fine
Training anew from saved weights; files of another program; SGD without momentum, which keeps nothing; a schedule that
is told its `last_epoch` after the optimizer was loaded, that is stepped to where it stood or made from the epoch of the
file, or that reckons the next rate from the last one alone, as `ExponentialLR` does (of one that a setting names nobody
knows: fragile); random state. That training goes on is told by a number of the file or, fragile, by an option, or a
setting of a file that an option names, at which the training's loop begins and, for the schedule alone, by the
optimizer's state that is loaded.

## Evidence
torch 2.13.0: of ten steps of AdamW under a cosine, interrupted after five, the last learning rate is 0.05 for 0 and the
weights differ; with the two states loaded they are equal. With the optimizer's alone a cosine over ten steps goes on at
0.0049 for 0.0035 of 0.01, `StepLR(optimizer, 4)` drops a step late, `ExponentialLR` and `StepLR(optimizer, 1)` end at
equal weights. `StepLR(optimizer, 1, last_epoch=3)`: KeyError. A new `GradScaler` scales by 65536 and leaves
out the steps that overflow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Certainty, Finding, Fix
from gclint.frameworks.registry import SOME_NAME
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import (
    Event,
    LibraryCall,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
    ScalerUsed,
    StateDictLoaded,
    StateFilled,
)
from gclint.run.guards import compatible, satisfiable
from gclint.run.parallel import inside, models_of
from gclint.run.parts_of_guards import without_elements
from gclint.run.run import Run, together
from gclint.run.stepping import receiver_text
from gclint.run.values import NOTHING, Const, Object, Value, ancestors, const, root

from ..words import BACKWARD
from .resumed import FILE, Left, file_of, goes_on_under, is_resumed, is_told, left_in_file, same
from .unkept import goes_on, kept_nowhere, saved_nowhere, schedules_left

CHANGES: tuple[Aspect, ...] = ("updates", "loaded", "loss", "gradients")
Told = dict[object, Site]
"""Where it is told of something that it begins anew: beside a file, or, of what is made at one place, beside any."""
KEPT_BY = {"optimizer": "optimizer", "schedule": "schedule", "scaler": "gradient scaler"}
INITIAL = "initial_lr"

rule = Rule(
    code="GCL314",
    name="resume-without-optimizer",
    docs=__doc__ or "",
    words=(("load_state_dict", "last_epoch", ".copy_("), ("optim",), BACKWARD),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_interrupted.py",
        "bad_interrupted.fixed.py",
        raises="AssertionError: the interrupted training ends elsewhere",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def left(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does training go on from a file whose optimizer or schedule nobody loads?"""
    if not event.whole:
        return
    told: Told = {}
    for load in run.of_type(StateFilled):
        for file in filter(None, map(file_of, load.source.objects())):
            parts = [
                (each, used, guard)
                for each in (left_in_file(load, file, run) if is_resumed(file, run) else ())
                if not _keeps_nothing(each.of)
                and not goes_on(each.of, file, run)
                and not _begins_with_its_model(each.of, file, run)
                and (used := _used(each.of, load, run)) is not None
                and (guard := together(load.guard, used.guard)) is not None
                and satisfiable(guard)
            ]
            if not parts:
                yield from _begins_anew(load, file, told, run)
                continue
            again = all(told.get((file, each.of), load.site) != load.site for each, _, _ in parts)
            told |= {(file, each.of): load.site for each, _, _ in parts if (file, each.of) not in told}
            if again:
                continue
            parts.sort(key=lambda part: _certainty(part[0].of))
            first, used, guard = parts[0]
            what = " and the ".join(dict.fromkeys(KEPT_BY[each.of.kind] for each, _, _ in parts))
            yield rule.finding(
                run,
                load.site,
                f"training goes on from this file without what is saved in it of the {what}",
                guard=guard,
                certainty=_certainty(first.of),
                symptom=f"silent: the {what} begins anew",
                related=[(first.saved.site, "saved here"), (used.site, "used on here")],
                fixes=(_loaded(load, [each for each, _, _ in parts]),),
            )


def _begins_anew(load: StateFilled, file: Object, told: Told, run: Run) -> Iterator[Finding]:
    """Does training go on from a file with an optimizer or a schedule whose state is kept nowhere? One load tells."""
    anew = list(kept_nowhere(load, file, run))
    parts = [
        (item, used, guard)
        for counted, item in anew or schedules_left(load, file, run)
        if not _keeps_nothing(item)
        and (used := _used(item, load, run)) is not None
        and (guard := together(counted, used.guard)) is not None
        and satisfiable(guard)
        and told.get(_made(item), load.site) == load.site
    ]
    told |= {_made(item): load.site for item, _, _ in parts}
    parts.sort(key=lambda part: _certainty(part[0]))
    for first, used, guard in parts[:1]:
        what = " and the ".join(dict.fromkeys(KEPT_BY[item.kind] for item, _, _ in parts))
        yield rule.finding(
            run,
            load.site,
            f"training goes on from this file without the state of the {what}, which is saved nowhere",
            guard=guard,
            certainty=_certainty(first) if anew and goes_on_under(file, run) is not None else "fragile",
            symptom=f"silent: the {what} begins anew",
            related=[(used.site, "used on here")],
        )


def _made(item: Object) -> object:
    """What tells one optimizer or schedule from another: where it is made."""
    return item.site.node if item.site is not None else item


@rule.on(RunEnded)
def never_saved(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is an optimizer's state loaded that the program saves nowhere, beside its schedule's, which it does?"""
    for load, item in saved_nowhere(run) if event.whole else ():
        used = _used(item, load, run)
        guard = together(load.guard, used.guard) if used is not None else None
        if used is not None and guard is not None and not _keeps_nothing(item):
            yield rule.finding(
                run,
                load.site,
                "the state of the optimizer is loaded here, and the program saves its schedule's alone",
                guard=guard,
                certainty="fragile",
                symptom="silent: the optimizer begins anew, as there is no such file",
                related=[(used.site, "used on here")],
            )
            return


def _used(item: Object, load: Event, run: Run) -> Event | None:
    """Where training goes on with an optimizer, a schedule or a scaler; None where it does not, or where it is told
    where it stands.
    """
    if item.kind == "optimizer":
        steps = [each for each in run.of_type(OptimizerStep) if same(each.optimizer, item)]
    elif item.kind == "scaler":
        used = [each for each in run.of_type(ScalerUsed) if each.operation == "step"]
        steps = [each for each in used if same(each.scaler, item)]
    else:
        calls = [each for each in run.of_type(LibraryCall) if each.name == "schedule.step" and each.call is not None]
        steps = [each for each in calls if each.call.receiver is not None and same(each.call.receiver, item)]
        told = [without_elements(each.guard) for each in steps if _catches_up(each, run)]
        steps = [each for each in steps if not any(compatible(without_elements(each.guard), other) for other in told)]
        if is_told(item, run):
            return None
    return next((each for each in steps if run.place(each) > run.place(load)), None)


def _catches_up(step: LibraryCall, run: Run) -> bool:
    """Whether a schedule is stepped to a given epoch, or in loops in which nothing trains: to where it stood."""
    loops = set(step.moment.loops)
    alone = bool(loops) and not any(loops & set(each.moment.loops) for each in run.of_type(OptimizerStep))
    return alone or (step.call is not None and bool(step.call.positional or step.call.keywords))


def _begins_with_its_model(item: Object, file: Object, run: Run) -> bool:
    """Whether an optimizer begins anew with models that do: other models take their states from the file."""
    built = (each for each in run.of_type(OptimizerBuilt) if same(each.optimizer, item))
    own = [model for each in built for model in models_of(each.parameters)]
    loads = [each for each in run.of_type(StateDictLoaded) if file in map(file_of, each.source.objects())]
    filled = [root(inside(model)) for each in loads for model in each.target.objects()]
    return bool(own) and bool(filled) and not any(same(one, other) for one in own for other in filled)


def _keeps_nothing(item: Object) -> bool:
    """Whether an optimizer has no state of its own: SGD without momentum."""
    node = item.site.node if item.site is not None else None
    plain = isinstance(node, ast.Call) and len(node.args) < 3
    momentum = item.attributes.get("momentum", const(0)).constant()
    return item.class_name == "SGD" and plain and momentum == 0


def _certainty(item: Object) -> Certainty:
    """A scaler finds its scale again by itself, and what watches a metric keeps the optimizer's rate: a schedule of
    which nobody knows the class may do so.
    """
    return "fragile" if item.kind == "scaler" or item.class_name in ("ReduceLROnPlateau", SOME_NAME) else "fails"


def _loaded(load: StateFilled, states: list[Left]) -> Fix | None:
    """Load the states after the model's, where what has them is known by its name."""
    node = load.site.node
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(given, ast.Subscript) or not all(_is_at_hand(each, load.site) for each in states):
        return None
    names = [(receiver_text(each.taken.site), each.key.replace("'", '"')) for each in states if each.taken.site]
    file = load.site.module.code(given.value)
    edit = rewrite.insert_after(load.site, *(f"{name}.load_state_dict({file}[{key}])" for name, key in names))
    return Fix("load", "Load what is saved", (edit,), "unsafe", intent=CHANGES) if edit else None


def _is_at_hand(state: Left, site: Site) -> bool:
    """Whether what has a state has the same name at a place as where it is saved."""
    saved, made, module = state.taken.site, state.of.site, site.module
    if saved is None or saved.module is not module or not receiver_text(saved):
        return False
    here = enclosing_function(module, saved.node) is enclosing_function(module, site.node)
    before = made is not None and made.module is module and module.span(made.node).line < module.span(site.node).line
    return receiver_text(saved).startswith("self.") or (here and before)


@rule.on(LibraryCall)
def told(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a schedule told where it stands while its optimizer is a new one?"""
    schedules = [item for item in event.result.objects() if item.kind == "schedule"]
    stands = schedules[0].attributes.get("last_epoch", NOTHING) if schedules else NOTHING
    if not any(_stands(item) for _, item in stands) or not _is_fresh(event, run):
        return
    for guard, item in stands:
        held = together(event.guard, guard)
        certainty = _stands(item)
        if held is None or certainty is None:
            continue
        yield rule.finding(
            run,
            event.site,
            "the schedule is told where it stands, and its optimizer is a new one, without the rate it began with",
            guard=held,
            certainty=certainty,
            symptom="KeyError: \"param 'initial_lr' is not specified in param_groups[0]",
        )
        return


def _stands(item: object) -> Certainty | None:
    """How sure it is that an epoch is none before the first: a number says it, one from a file may."""
    if isinstance(item, Const):
        return "fails" if isinstance(item.value, int) and item.value >= 0 else None
    files = ancestors(Value([(frozenset(), item)])) if isinstance(item, Object) else ()
    from_file = any(isinstance(each, Object) and each.parent is not None and each.parent.type == FILE for each in files)
    return "fragile" if from_file else None


def _is_fresh(event: LibraryCall, run: Run) -> bool:
    """Whether the optimizer of a schedule was neither loaded nor given to another schedule, nor told its first rate."""
    held = [item for made in event.result.objects() for item in made.attributes.get("optimizer", NOTHING).objects()]
    if not held or any(item.kind != "optimizer" for item in held):
        return False
    loaded = {item for each in run.of_type(StateDictLoaded) for item in each.target.objects()}
    others_made = [each for each in run.of_type(LibraryCall) if each is not event]
    before = [each for each in others_made if together(each.guard, event.guard) is not None]
    others = [made for each in before for made in each.result.objects() if made.kind == "schedule"]
    taken = {item for made in others for item in made.attributes.get("optimizer", NOTHING).objects()}
    return not any(item in loaded or item in taken for item in held) and not list(run.modules_with(INITIAL))
