"""# accumulate-without-accelerator (GCL804)

## What it does
Finds gradient accumulation by accelerate of which only a half is used: `loss.backward()` inside
`accelerator.accumulate`, or `gradient_accumulation_steps` without any `accumulate` block. Where an option gives the
number, the finding is about runs that set it above one.

## Why it breaks
`accelerator.backward` divides the loss by the number of accumulated steps, and scales it for float16;
`loss.backward()` does neither, so the gradient is N times too large. Without an `accumulate` block the loss is divided
by N, but every batch takes a step: the gradient is N times too small.

## Example
```python
accelerator = Accelerator(gradient_accumulation_steps=4)
with accelerator.accumulate(model):
    loss.backward()
```

## Use instead
```python
with accelerator.accumulate(model):
    accelerator.backward(loss)
```

## When it is fine
One accumulation step; a loop that accumulates by hand and steps every N batches.

## Evidence
torch 2.13.0, accelerate 1.15: the gradient against that of `accelerator.backward` is N times as large.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, OptimizerStep, RunEnded
from gclint.run.run import Run
from gclint.run.stepping import looped, receiver_text
from gclint.run.values import NOTHING, Const, Object

from ..words import BACKWARD

STEPS = "gradient_accumulation_steps"

rule = Rule(
    code="GCL804",
    name="accumulate-without-accelerator",
    docs=__doc__ or "",
    words=((STEPS, "accumulate", "GradientAccumulationPlugin"), ("Accelerator",), BACKWARD),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("agrees",),
    reproduction=Reproduction("bad_plain_backward.py", "bad_plain_backward.fixed.py", intent=("loss", "gradients")),
)


@rule.on(LibraryCall)
def plain_backward(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a loss differentiated past the accelerator in an `accumulate` block?"""
    call = event.call
    if call is None or call.receiver is None or call.last != "backward":
        return
    block = event.moment.inside("accumulate")
    if block is None or block.site is None:
        return
    accelerators = block.attributes.get("accelerator", NOTHING).objects()
    if call.receiver.kind in ("accelerator", "engine") or not accelerators or _steps(accelerators[0]) == 1:
        return
    loss, accelerator = receiver_text(event.site), receiver_text(block.site)
    plain = rewrite.call_node(event.site)
    fix = None
    if loss and accelerator and plain is not None and not plain.args and block.site.module is event.site.module:
        edit = rewrite.replace(event.site, f"{accelerator}.backward({loss})")
        fix = Fix("accelerator-backward", "Let the accelerator run backward", (edit,), intent=("loss", "gradients"))
    yield rule.finding(
        run,
        event.site,
        "a plain backward inside `accumulate`: the loss is not divided by the accumulated steps",
        guard=event.guard,
        symptom="silent: gradients are as many times too large as steps are accumulated",
        related=[(block.site, "gradients are accumulated in this block")],
        fixes=(fix,),
        versions=("accelerate",),
    )


@rule.on(RunEnded)
def never_accumulates(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is the loss divided for an accumulation that does not take place?"""
    if not event.whole:
        return
    calls = [
        item
        for item in run.of_type(LibraryCall)
        if item.call is not None and item.call.receiver is not None and item.call.receiver.kind == "accelerator"
    ]
    for accelerator in dict.fromkeys(item.call.receiver for item in calls):
        own = [item for item in calls if item.call.receiver is accelerator]
        backwards = [item for item in own if item.call.last == "backward" and looped(item)]
        steps = [item for item in run.of_type(OptimizerStep) if looped(item)]
        count = _steps(accelerator)
        if not backwards or not steps or count == 1 or any(item.call.last == "accumulate" for item in own):
            continue
        given = accelerator.sites.get(STEPS)
        if given is None or any(item.guard - backwards[-1].guard for item in steps):
            continue
        told = str(count) if count else f"`{given.module.code(given.node)}`, where that is above 1"
        edits = rewrite.remove_arguments(accelerator.site, STEPS) if accelerator.site is not None else []
        yield rule.finding(
            run,
            given,
            f"the loss is divided by {told}, but no `accumulate` block skips a step",
            certainty="fails" if count else "fragile",
            guard=backwards[-1].guard,
            symptom=f"silent: gradients are {count or 'that many'} times too small",
            related=[(backwards[-1].site, "divides the loss"), (steps[-1].site, "steps after every batch")],
            fixes=(
                Fix(
                    "no-accumulation",
                    "Do not ask for accumulation",
                    tuple(edits),
                    "unsafe",
                    intent=("loss", "gradients", "backwards"),
                )
                if edits
                else None,
            ),
            versions=("accelerate",),
        )


def _steps(accelerator: Object) -> int:
    """How many steps are accumulated; 0 when the code does not show it."""
    held = accelerator.attributes.get(STEPS)
    if held is None:
        return 0 if accelerator.open or "gradient_accumulation_plugin" in accelerator.attributes else 1
    item = held.only()
    return item.value if isinstance(item, Const) and isinstance(item.value, int) else 0
