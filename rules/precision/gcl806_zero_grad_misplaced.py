"""# zero-grad-misplaced (GCL806)

## What it does
Finds gradients that are cleared between backward and step, in every round of a loop that steps every few rounds, or
before the backward within accelerate's `accumulate`.

## Why it breaks
Between backward and step there is nothing left for the step: no weight changes. In every round of an accumulation the
gradients of all rounds but the last before the step are lost: the batch is as small as if nothing were accumulated,
divided by how many should have been. Within `accumulate` a prepared optimizer clears in the rounds that step only: at
the head of such a round that is what the rounds before it added; so it is under `if accelerator.sync_gradients`.

## Example
```python
loss.backward()
optimizer.zero_grad()
optimizer.step()
```

## Use instead
```python
loss.backward()
optimizer.step()
optimizer.zero_grad()
```

## When it is fine
Cleared before the backward of each round that steps, or before `accumulate` begins; the other optimizer of a GAN;
gradients that were saved and are put back.

## Evidence
torch 2.13.0: no weight moves; of an accumulation over four rounds the update is 0.0085 for 0.148.
accelerate 1.15: cleared at the head of `accumulate`, the update by four equal rounds is 0.071 for 0.283.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import (
    AttributeSet,
    Backward,
    GradientsCleared,
    LibraryCall,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
)
from gclint.run.guards import NEVER, Guard, all_of, either
from gclint.run.own_numbers import asks_whether_finite
from gclint.run.parallel import inside, models_of, trained
from gclint.run.parts_of_guards import covers, everything
from gclint.run.run import Run, ways
from gclint.run.stepping import every_few_rounds, waits_in_some_round
from gclint.run.values import NOTHING, Alternative, Const, Object, root

from ..words import BACKWARD, STEP
from .prepared import stepping_keys

CHANGES: tuple[Aspect, ...] = ("updates", "accumulation", "gradients", "loss", "trained")
LOST = "the gradients are cleared before the step: it has none"
HEAD = "the gradients are cleared at the head of `accumulate`: the step has those of the last round only"
STEPS = "gradient_accumulation_steps"
CUT = "the gradients are cleared in every round, and the step comes every few: it has those of the last round"

rule = Rule(
    code="GCL806",
    name="zero-grad-misplaced",
    docs=__doc__ or "",
    words=((".zero_grad",), STEP, BACKWARD),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("changed",),
    reproduction=Reproduction("bad_between.py", "bad_between.fixed.py", intent=CHANGES),
)


@rule.on(RunEnded)
def misplaced(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is what backward added cleared before the step that is to use it?"""
    if not event.whole or any(item.name == "grad" for item in run.of_type(AttributeSet)):
        return
    for step in run.of_type(OptimizerStep):
        added = [each for each in run.of_type(Backward) if _is_for(each, step.optimizer, run)]
        for cleared in run.of_type(GradientsCleared):
            if not step.moment.loops or not _is_of(cleared, step.optimizer, run):
                continue
            guard = all_of((cleared.guard, step.guard))
            if guard is None or cleared.moment.loops != step.moment.loops:
                continue
            between = _between(cleared, step, added, run)
            if not between:
                guard = _waiting(cleared, step, run) if _every_round(cleared, step, added, run) else NEVER
            if guard is NEVER:
                continue
            yield rule.finding(
                run,
                cleared.site,
                LOST if between else CUT,
                guard=guard,
                certainty="fails" if between else "fragile",
                symptom="silent: the weights do not move" if between else "silent: gradients are lost",
                related=[(step.site, "the step")],
                fixes=(_after(cleared, step, run),),
            )


@rule.on(RunEnded)
def at_the_head(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a round of accelerate's accumulation clear, before its own backward, what the rounds before it added?"""
    if not event.whole or any(item.name == "grad" for item in run.of_type(AttributeSet)):
        return
    for step in run.of_type(OptimizerStep):
        block = step.moment.inside("accumulate")
        accelerator = _accelerator(block, step.optimizer, run) if block is not None else None
        if block is None or accelerator is None:
            continue
        rounds = accelerator.attributes.get(STEPS, NOTHING)
        for cleared, added in _before_backward(step, block, stepping_keys(accelerator), run):
            for guard, (number,) in ways(added.guard, rounds):
                if not _is_several(number):
                    continue
                yield rule.finding(
                    run,
                    cleared.site,
                    HEAD,
                    guard=guard,
                    certainty="fragile",
                    symptom="silent: gradients are lost",
                    related=[(block.site, "gradients are accumulated in this block"), (step.site, "the step")],
                    fixes=(_after(cleared, step, run),),
                    versions=("accelerate",),
                )


def _accelerator(block: Object, optimizer: Object, run: Run) -> Object | None:
    """The accelerator whose `accumulate` block this is, where it has prepared the optimizer."""
    held = block.attributes.get("accelerator", NOTHING)
    calls: list[LibraryCall] = run.of_type(LibraryCall)
    for call in filter(None, (each.call for each in calls)):
        if call.receiver not in held.objects() or not call.last.startswith("prepare"):
            continue
        if any(optimizer in value.objects() for value in call.inputs()):
            return call.receiver
    return None


def _before_backward(
    step: OptimizerStep, block: Object, steps: set[str], run: Run
) -> Iterator[tuple[GradientsCleared, Backward]]:
    """What clears an optimizer's gradients in a block before the backward whose gradients it steps with."""
    inner = [each for each in run.of_type(Backward) if block in each.moment.contexts]
    for cleared in run.of_type(GradientsCleared):
        if block not in cleared.moment.contexts or not _is_of(cleared, step.optimizer, run):
            continue
        for added in inner:
            before = run.place(cleared) < run.place(added) < run.place(step)
            under = {(atom, held) for atom, held in cleared.guard if not (held and atom.key in steps)}
            if before and covers(frozenset(under), added.guard) and _is_for(added, step.optimizer, run):
                yield cleared, added


def _is_several(number: Alternative) -> bool:
    """Whether a number of rounds is one above 1, or something that the user says."""
    if isinstance(number, Const):
        return isinstance(number.value, int) and number.value > 1
    return isinstance(number, Object) and number.kind == "option"


def _between(cleared: GradientsCleared, step: OptimizerStep, added: list[Backward], run: Run) -> bool:
    """Whether gradients are cleared after the last backward before a step."""
    start, end = run.place(cleared), run.place(step)
    before = [each for each in added if run.place(each) < start and each.moment.loops == step.moment.loops]
    again = any(start < run.place(each) < end for each in added)
    closure = "closure" in step.optimizer.state
    dropped = asks_whether_finite(cleared.guard - step.guard, run)  # and a step without gradients changes nothing
    return start < end and bool(before) and not again and not closure and not dropped


def _every_round(cleared: GradientsCleared, step: OptimizerStep, added: list[Backward], run: Run) -> bool:
    """Whether the step waits for a count of rounds that clearing does not wait for, nor every backward."""
    waits = every_few_rounds(step, run).keys()
    inner = [each for each in added if each.moment.loops == step.moment.loops]
    if not waits or not inner or waits_in_some_round(cleared, run):
        return False
    with_step = everything(step.guard, tacit=False)
    others = {(atom, not held) for atom, held in with_step if atom.key.partition("==")[0] in waits}
    if any(not others.isdisjoint(everything(each.guard, tacit=False)) for each in inner):
        return True  # added in the rounds without a step
    return not any(waits & every_few_rounds(each, run).keys() for each in inner)


def _waiting(cleared: GradientsCleared, step: OptimizerStep, run: Run) -> Guard:
    """Under which conditions a step waits for more than one round where gradients are cleared."""
    counts = every_few_rounds(step, run).values()
    return either(guard for count in counts for guard, (item,) in ways(cleared.guard, count) if item != Const(1))


def _is_of(cleared: GradientsCleared, optimizer: Object, run: Run) -> bool:
    """Whether an optimizer's gradients are cleared: by itself, or by the one model that it holds."""
    target = cleared.target
    return target is optimizer or root(inside(target)) in _models(optimizer, run)


def _is_for(backward: Backward, optimizer: Object, run: Run) -> bool:
    """Whether a backward may reach an optimizer's parameters."""
    mine, others = _models(optimizer, run), trained(backward)
    return not mine or not others or any(root(inside(each)) in mine for each in others)


def _models(optimizer: Object, run: Run) -> list[Object]:
    built = (each for each in run.of_type(OptimizerBuilt) if each.optimizer is optimizer)
    return [model for each in built for model in models_of(each.parameters)]


def _after(cleared: GradientsCleared, step: OptimizerStep, run: Run) -> Fix | None:
    """Clear them after the step, where no other step needs them cleared."""
    sites = {each.site.node_id for each in run.of_type(OptimizerStep) if each.optimizer is step.optimizer}
    if cleared.site.module is not step.site.module or len(sites) > 1:
        return None
    removed = rewrite.remove_statement(cleared.site, comments=False)
    added = rewrite.insert_after(step.site, cleared.site.module.code(cleared.site.node))
    if removed is None or added is None:
        return None
    return Fix("after-step", "Clear them after the step", (removed, added), "unsafe", intent=CHANGES)
