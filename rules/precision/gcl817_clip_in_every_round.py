"""# clip-in-every-round (GCL817)

## What it does
Finds gradients that are accumulated over several rounds and clipped in every round, before the next one adds to them:
by torch's functions, or by one of the project that multiplies gradients by what it computed from them.

## Why it breaks
The limit is meant for the gradient of a step. Clipped in every round, what the rounds before have added is cut to the
limit again and again, and the last rounds count for most of it: the step follows the last few batches, in a direction
that no batch of that size has. Nothing fails, and the norm that is logged is that of a part of the sum.

## Example
```python
for i, batch in enumerate(loader):
    (criterion(model(batch), target) / 8).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if (i + 1) % 8 == 0:
        optimizer.step()
        optimizer.zero_grad()
```

## Use instead
```python
    if (i + 1) % 8 == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
```

## When it is fine
Clipped in the rounds that step; a limit that is infinite, for the norm alone; gradients that are cleared in every
round; the gradients of another model, or of each round alone before they are added by hand.

## Evidence
torch 2.13.0: eight rounds whose gradients are alike, each ten times the limit of 0.1: of the step's gradient the last
round has 0.0997, the one before 0.0079, the first four less than 0.00001; clipped before the step each has 0.035.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, Backward, Event, GradientsCleared, GradientsClipped, OptimizerStep, RunEnded
from gclint.run.guards import all_of
from gclint.run.parallel import inside, models_of, trained
from gclint.run.parts_of_guards import covers
from gclint.run.run import Run
from gclint.run.stepping import every_few_rounds, together, waits_in_some_round
from gclint.run.values import NOTHING, Const, Object, Value, root

from ..words import BACKWARD, STEP

CHANGES: tuple[Aspect, ...] = ("gradients", "updates")

rule = Rule(
    code="GCL817",
    name="clip-in-every-round",
    docs=__doc__ or "",
    words=(("clip_grad_norm_", "clip_grad_value_", "mul_"), BACKWARD, STEP),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("gradients",),
    reproduction=Reproduction(
        "bad_every_round.py", "bad_every_round.fixed.py", raises="AssertionError: the rounds", intent=CHANGES
    ),
)


@rule.on(RunEnded)
def clipped_in_every_round(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Are gradients clipped in rounds whose gradients the next rounds add to?"""
    if not event.whole:
        return
    for step in run.of_type(OptimizerStep):
        waits = every_few_rounds(step, run)
        if not _several(waits) or not _adds_up(step, waits, run):
            continue
        for clip in run.of_type(GradientsClipped):
            guard = all_of((clip.guard, step.guard))
            if guard is None or not _of_each_round(clip, step, run):
                continue
            yield rule.finding(
                run,
                clip.site,
                "the gradients are clipped in every round, and the step comes after several: the first rounds hardly "
                "count",
                guard=clip.guard,
                certainty="fragile",
                symptom="silent: each round cuts down what those before it have added",
                related=[(step.site, "the step, after several rounds")],
                fixes=(_before_the_step(clip, step),),
            )


def _several(waits: dict[str, Value]) -> bool:
    """Whether a step may wait for more than one round."""
    numbers = [item for value in waits.values() for _, item in value]
    return bool(waits) and not all(item in (Const(0), Const(1)) for item in numbers)


def _adds_up(step: OptimizerStep, waits: dict[str, Value], run: Run) -> bool:
    """Whether backwards of the rounds that do not step add to a step's gradients: none waits with it, and nothing
    clears them in every round.
    """
    here = step.moment.loops
    added = [each for each in run.of_type(Backward) if each.moment.loops == here and _is_for(trained(each), step)]
    in_each = all(waits.keys().isdisjoint(every_few_rounds(each, run)) for each in added)
    cleared = list(_cleared(step, run))
    return bool(added) and in_each and not any(covers(each.guard, other.guard) for each in cleared for other in added)


def _cleared(step: OptimizerStep, run: Run) -> Iterator[Event]:
    """Where the gradients of a step are cleared in its loop without waiting for a count of rounds."""
    here = step.moment.loops
    for each in run.of_type(GradientsCleared, AttributeSet):
        inner = each.moment.loops[: len(here)] == here
        if inner and _clears(each, step) and not waits_in_some_round(each, run):
            yield each


def _clears(event: GradientsCleared | AttributeSet, step: OptimizerStep) -> bool:
    if isinstance(event, AttributeSet):
        return event.name == "grad" and bool(event.value.is_const(None))
    target = event.target
    return target is step.optimizer or target.kind == "unknown" or _is_for([root(inside(target))], step)


def _of_each_round(clip: GradientsClipped, step: OptimizerStep, run: Run) -> bool:
    """Whether gradients of a step are clipped in the rounds that do not step as well."""
    limit = clip.call.get("max_norm", 1) if clip.call is not None else NOTHING
    return (
        clip.moment.loops == step.moment.loops
        and not waits_in_some_round(clip, run)
        and together(clip, step)
        and limit.constant() != float("inf")
        and _is_for(models_of(clip.parameters), step)
    )


def _is_for(models: list[Object], step: OptimizerStep) -> bool:
    """Whether the gradients of some models are those that a step uses, as far as all of them are known."""
    mine = set(models_of(step.optimizer.attributes.get("params", NOTHING)))
    return any(root(inside(each)) in mine for each in models)


def _before_the_step(clip: GradientsClipped, step: OptimizerStep) -> Fix | None:
    """Clip right before the step, where the clipping is a statement of its own."""
    module, line = clip.site.module, clip.site.module.statement(clip.site.node)
    if module is not step.site.module or not isinstance(line, ast.Expr) or line.value is not clip.site.node:
        return None
    removed = rewrite.remove_statement(clip.site, comments=False)
    added = rewrite.insert_before(step.site, module.code(clip.site.node))
    if removed is None or added is None:
        return None
    return Fix("before-step", "Clip before the step", (removed, added), "unsafe", intent=CHANGES)
