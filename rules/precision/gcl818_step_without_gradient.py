"""# step-without-gradient (GCL818)

## What it does
Finds optimizers whose model no backward of the program reaches, because what the loss is computed from has been cut off
from it: by `detach()` or `no_grad`.

## Why it breaks
An optimizer passes over parameters without a gradient. Where the loss of a generator is computed from the same detached
image as the discriminator's, backward fills the discriminator's gradients alone: the generator's steps change nothing,
and its loss goes its way with what the discriminator learns. Nothing is raised.

## Example
```python
fake = generator(noise).detach()
loss_d = critic(real, discriminator(real), discriminator(fake))
...
loss_g = -discriminator(fake).mean()
loss_g.backward()
optimizer_g.step()
```

## Use instead
```python
fake = generator(noise)
loss_d = critic(real, discriminator(real), discriminator(fake.detach()))
...
loss_g = -discriminator(fake).mean()
loss_g.backward()
optimizer_g.step()
```

## When it is fine
Another loss of the program reaches the model; its gradients are set by hand; nobody knows all that the loss is
computed from.

## Evidence
torch 2.13.0: after ten rounds of the example the generator's parameters are what they were made as, and their
gradients None.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding
from gclint.rule import Reproduction, Rule
from gclint.run.events import AttributeSet, Backward, Forward, OptimizerStep, RunEnded
from gclint.run.guards import Guard, compatible, narrowed
from gclint.run.parallel import models_of, trained
from gclint.run.run import Run
from gclint.run.values import NOTHING, Object, root

from ..adapters.held import are_groups_changed
from ..words import LEARNS, STEP

CUT_OFF = "the loss is computed from what was cut off from it"
UNRECORDED = "it runs without gradients only"

rule = Rule(
    code="GCL818",
    name="step-without-gradient",
    docs=__doc__ or "",
    words=(LEARNS, (*STEP, "training_step"), ("detach", "no_grad", "inference_mode", "set_grad_enabled")),
    certainty=("fragile",),
    oracles=("changed",),
    reproduction=Reproduction(
        "bad_detached_for_both.py",
        "good_detached_for_one.py",
        raises="AssertionError: the generator has not moved",
        intent=("gradients", "trained", "updates"),
    ),
)


@rule.on(RunEnded)
def steps_on_nothing(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does an optimizer step whose model no backward reaches, while what it gives is cut off, or without gradients?"""
    backwards = run.of_type(Backward) if event.whole else []
    told: set[Object] = set()
    by_hand = bool(backwards) and (_are_set_by_hand(run) or are_groups_changed(run))
    for step in run.of_type(OptimizerStep) if not by_hand and backwards else ():
        models = models_of(step.optimizer.attributes.get("params", NOTHING))
        if step.optimizer in told or not models or any(_reaches(each, models, step.guard) for each in backwards):
            continue
        together = [each for each in backwards if compatible(each.guard, step.guard)]
        unused = [each for each in together if _is_cut_off(each, models)]
        why = CUT_OFF if unused else UNRECORDED
        if not unused and _run_unrecorded(models, run):
            unused = [each for each in together if run.place(each) < run.place(step)]
        if unused:
            backward = min(unused, key=lambda each: len(narrowed(each.guard, step.guard)))
            told.add(step.optimizer)
            yield rule.finding(
                run,
                step.site,
                f"no backward reaches this optimizer's model: {why}",
                guard=narrowed(backward.guard, step.guard),
                certainty="fragile",
                symptom="silent: its parameters have no gradient, and its steps change nothing",
                related=[(backward.site, "the backward")],
            )


def _reaches(backward: Backward, models: list[Object], guard: Guard) -> bool:
    """Whether a backward may give a model gradients: it is of its loss, or of one that nobody knows whole."""
    if not compatible(backward.guard, guard):
        return False
    known = backward.forwards or backward.cut_off
    return not known or _is_foreign(backward, models) or any(root(each) in models for each in trained(backward))


def _is_foreign(backward: Backward, models: list[Object]) -> bool:
    """Whether a loss may come from something that nobody knows and that was given one of these models."""
    found = backward.loss.objects()
    known = len(found) == sum(1 for _ in backward.loss) and not any(item.known("foreign") for item in found)
    return not known and any(model.escaped for model in models)


def _is_cut_off(backward: Backward, models: list[Object]) -> bool:
    """Whether a loss came from one of these models by way of tensors without a gradient alone."""
    return any(root(each.attributes["of"].objects()[0]) in models for each in backward.cut_off)


def _run_unrecorded(models: list[Object], run: Run) -> bool:
    """Whether models are called, and never where autograd records it."""
    called = [each for each in run.of_type(Forward) if root(each.model) in models]
    return bool(called) and all(each.moment.unrecorded() is not None for each in called)


def _are_set_by_hand(run: Run) -> bool:
    """Whether the program sets gradients itself."""
    return any(each.name == "grad" for each in run.of_type(AttributeSet))
