"""# scaler-update-per-optimizer (GCL815)

## What it does
Finds `scaler.update()` after the step of each of several optimizers, of which the later ones were unscaled before.

## Why it breaks
`update()` ends the step for the scaler: it forgets which optimizers it has unscaled. The next `scaler.step(optimizer)`
divides gradients by the scale that are divided already. Its update is thousands of times too small; nothing is raised.

## Example
```python
for optimizer in optimizers:
    scaler.unscale_(optimizer)
for optimizer in optimizers:
    scaler.step(optimizer)
    scaler.update()
```

## Use instead
```python
for optimizer in optimizers:
    scaler.unscale_(optimizer)
for optimizer in optimizers:
    scaler.step(optimizer)
scaler.update()
```

## When it is fine
One update after all steps; each optimizer with its own backward, `unscale_` and update; no `unscale_` before.

## Evidence
torch 2.13.0: of two equal layers the second moves 65536 times less.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, RunEnded, ScalerUsed
from gclint.run.run import Run
from gclint.run.stepping import together

from .moves import behind_loop

CHANGES: tuple[Aspect, ...] = ("updates", "loss", "gradients")

rule = Rule(
    code="GCL815",
    name="scaler-update-per-optimizer",
    docs=__doc__ or "",
    words=((".unscale_",), (".update",), ("Scaler",)),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_loop.py", "bad_loop.fixed.py", raises="AssertionError: the second layer stays", intent=CHANGES
    ),
)


@rule.on(RunEnded)
def updated_between(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does the scaler forget that it unscaled an optimizer, before that one steps?"""
    used: list[ScalerUsed] = run.of_type(ScalerUsed) if event.whole else []
    told: set[Site] = set()
    for step in (each for each in used if each.operation == "step"):
        own = [each for each in used if each.scaler is step.scaler and together(each, step)]
        update = _update_before(step, own, run)
        if update is None or update.site in told:
            continue
        told.add(update.site)
        yield rule.finding(
            run,
            update.site,
            "this update comes before the step of an optimizer that was unscaled: it is unscaled again",
            guard=update.guard,
            symptom="silent: its step is thousands of times too small",
            related=[(step.site, "the step")],
            fixes=(_last(update, used),),
        )


def _update_before(step: ScalerUsed, own: list[ScalerUsed], run: Run) -> ScalerUsed | None:
    """The update between where an optimizer was unscaled and its step."""
    optimizers = set(step.given.objects())
    unscaled = [
        run.place(each) for each in own if each.operation == "unscale_" and optimizers & set(each.given.objects())
    ]
    anew = [*unscaled, *(run.place(each) for each in run.of_type(Backward))]
    end = run.place(step)
    for update in (each for each in own if each.operation == "update"):
        place = run.place(update)
        before = [each for each in unscaled if each < place]
        if before and place < end and not any(place < each < end for each in anew):
            return update
    return None


def _last(update: ScalerUsed, used: list[ScalerUsed]) -> Fix | None:
    """Update once after all steps."""
    edits = behind_loop(update.site, update.moment.loops[-1].node) if update.moment.loops else ()
    others = [each for each in used if each.operation == "update" and each.site != update.site]
    if others:
        removed = rewrite.remove_statement(update.site)
        edits = (removed,) if removed is not None else ()
    return Fix("once", "Update once after all steps", edits, "unsafe", intent=CHANGES) if edits else None
