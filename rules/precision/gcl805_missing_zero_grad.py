"""# missing-zero-grad (GCL805)

## What it does
Finds training loops with backward and step in which no gradient is ever set to nothing.

## Why it breaks
`backward` adds to the gradients that are there. Without `zero_grad` every step uses the sum of all batches so far:
the loss first falls, then swings or diverges; nothing is raised.

## Example
```python
for batch in loader:
    model(batch).mean().backward()
    optimizer.step()
```

## Use instead
```python
for batch in loader:
    model(batch).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
```

## When it is fine
Gradients cleared every few batches, by `model.zero_grad()`, or by setting `.grad = None`.

## Evidence
torch 2.13.0: the gradients of the second step are the sum of two.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.analysis import rewrite
from gclint.analysis.events import AttributeSet, Backward, GradientsCleared, OptimizerBuilt, OptimizerStep, RunEnded
from gclint.analysis.run import Run
from gclint.analysis.stepping import argument_text, looped, receiver_text, together
from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule

from ..words import BACKWARD

rule = Rule(
    code="GCL805",
    name="missing-zero-grad",
    docs=__doc__ or "",
    words=(BACKWARD, (".step",)),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("uncleared",),
    reproduction=Reproduction("bad_loop.py", "bad_loop.fixed.py", intent=("accumulation",)),
)


@rule.on(RunEnded)
def never_cleared(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a loop add gradients and step, and nothing ever clears them?"""
    if (
        not event.whole
        or run.of_type(GradientsCleared)
        or any(item.name == "grad" for item in run.of_type(AttributeSet))
    ):
        return
    backwards = [item for item in run.of_type(Backward) if looped(item) and "inputs" not in item.keywords]
    for step in run.of_type(OptimizerStep):
        added = next(
            (item for item in backwards if item.moment.loops[-1:] == step.moment.loops[-1:] and together(item, step)),
            None,
        )
        if added is None or step.optimizer.site is None or _fresh(step, run):
            continue
        name = argument_text(step.site) if step.scaler is not None else receiver_text(step.site)
        edit = rewrite.insert_after(step.site, f"{name}.zero_grad()") if name else None
        fix = (
            Fix("zero-grad", "Clear the gradients after the step", (edit,), "unsafe", intent=("accumulation",))
            if edit is not None
            else None
        )
        yield rule.finding(
            run,
            step.site,
            "gradients are added in every round of this loop and never cleared",
            guard=step.guard,
            certainty="fragile",
            symptom="silent: each step uses the sum of all gradients so far",
            related=[(added.site, "gradients are added here")],
            fixes=(fix,),
        )
        return


def _fresh(step: OptimizerStep, run: Run) -> bool:
    """Whether every round makes an optimizer of its own, as for a model of its own, which has no gradients yet."""
    made = (built for built in run.of_type(OptimizerBuilt) if built.optimizer is step.optimizer)
    return any(step.moment.loops[-1] in built.moment.loops for built in made)
