"""# schedule-before-steps (GCL819)

## What it does
Finds learning rate schedules that are stepped at the head of each epoch, before the optimizer has taken its steps.

## Why it breaks
A schedule sets its first learning rate when it is made; `step()` goes on to the next one. At the head of the first
epoch it does so before anything was trained with the first: that value is skipped, and every later change comes an
epoch too early, as for `StepLR(optimizer, 30)` after 29 epochs. Up to torch 1.0 it was the other way round, and code of
that time still runs: torch only warns once.

## Example
```python
for epoch in range(epochs):
    scheduler.step()
    train_one_epoch(model, optimizer, loader)
```

## Use instead
```python
for epoch in range(epochs):
    train_one_epoch(model, optimizer, loader)
    scheduler.step()
```

## When it is fine
torch before 1.1; `step(epoch)`, which says where the schedule stands; a schedule that begins at another epoch
(`last_epoch`), or is stepped from the second epoch on; steps that catch up with a resumed run; `LambdaLR` and warm-ups,
whose first value is mostly none; one that is stepped with each batch, of which one step more or less is nothing.

## Evidence
torch 2.13.0: with `StepLR(optimizer, 3)` the rate falls after two epochs, and torch warns "Detected call of
`lr_scheduler.step()` before `optimizer.step()`" (torch/optim/lr_scheduler.py).
https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import LOOPS
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, OptimizerStep, RunEnded
from gclint.run.parts_of_guards import covers
from gclint.run.run import Run, together
from gclint.run.values import NOTHING, Object

from ..forwards.resumed import from_the_start

CHANGES: tuple[Aspect, ...] = ("updates", "loss")
CHANGED = Version("1.1.0.dev0")
"""From this release on a schedule is stepped after the optimizer."""
DECAYS = {
    *("StepLR", "MultiStepLR", "ExponentialLR", "CosineAnnealingLR", "PolynomialLR", "CosineAnnealingWarmRestarts"),
}
"""Schedules of torch that begin with the rate that the optimizer was given."""

rule = Rule(
    code="GCL819",
    name="schedule-before-steps",
    docs=__doc__ or "",
    words=(("lr_scheduler", *sorted(DECAYS)), (".step",)),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_epochs.py", "bad_epochs.fixed.py", raises="AssertionError: the first rate is skipped", intent=CHANGES
    ),
)


@rule.on(RunEnded)
def skips_the_first(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a schedule stepped in each epoch before the optimizer is?"""
    version = run.targets.version("torch")
    if not event.whole or (version is not None and version < CHANGED):
        return
    told: set[Object] = set()
    for step in run.of_type(LibraryCall):
        schedule = step.call.receiver if step.name == "schedule.step" and step.call is not None else None
        if schedule is None or schedule in told or not _goes_on_by_one(step, schedule):
            continue
        held = together(step.guard, from_the_start(schedule, run))
        if held is None:
            continue
        first = next(_steps_of(schedule, run), None)
        if first is None or run.place(first) < run.place(step) or not _is_at_the_head(step, first):
            continue
        told.add(schedule)
        yield rule.finding(
            run,
            step.site,
            "the schedule is stepped before the epoch is trained: its first learning rate is skipped",
            guard=held,
            certainty="fragile",
            symptom="silent: every change of the learning rate comes an epoch too early",
            related=[(first.site, "the optimizer takes its steps here")],
            fixes=(_to_the_end(step),),
        )


def _goes_on_by_one(step: LibraryCall, schedule: Object) -> bool:
    """Whether a step goes on by one, of a schedule that begins with the rate that the optimizer was given."""
    assert step.call is not None
    return schedule.class_name in DECAYS and not (step.call.positional or step.call.keywords or step.call.open)


def _steps_of(schedule: Object, run: Run) -> Iterator[OptimizerStep]:
    """The steps of the optimizer whose rate a schedule sets."""
    held = schedule.attributes.get("optimizer", NOTHING).objects()
    return (each for each in run.of_type(OptimizerStep) if each.optimizer in held)


def _is_at_the_head(step: LibraryCall, first: OptimizerStep) -> bool:
    """Whether a loop takes a step of the schedule in each of its rounds, around a loop of the optimizer's steps: of a
    schedule that is made under a condition only where that holds.
    """
    outer, inner = step.moment.loops, first.moment.loops
    schedule = step.call.receiver if step.call is not None else None
    in_each = schedule is not None and covers(step.guard - first.guard, schedule.born)
    return bool(outer) and len(outer) < len(inner) and inner[: len(outer)] == outer and in_each


def _to_the_end(step: LibraryCall) -> Fix | None:
    """Move the statement to the end of the loop's body."""
    module = step.site.module
    statement = module.statement(step.site.node)
    loop = module.parents.get(statement) if statement is not None else None
    if not isinstance(loop, LOOPS) or not isinstance(statement, ast.Expr) or statement not in loop.body:
        return None
    edits = rewrite.move_after(module, statement, loop.body[-1])
    return Fix("end", "Step it after the epoch", tuple(edits), "unsafe", intent=CHANGES) if edits else None
