"""# autocast-spans-steps (GCL801)

## What it does
Finds an autocast block around a loop that takes optimizer steps.

## Why it breaks
Autocast keeps its low-precision copies of the weights until the outermost block is left. Around a loop it never is:
every iteration after the first computes with the copies made from the first weights. The weights change, the loss
does not move.

## Example
```python
with torch.autocast("cuda"):
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
```

## Use instead
```python
for batch in loader:
    with torch.autocast("cuda"):
        loss = model(batch).mean()
    loss.backward()
    optimizer.step()
```
or `torch.autocast("cuda", cache_enabled=False)`.

## When it is fine
One step each time the block is entered; `cache_enabled=False`; autocast turned off.

## Evidence
torch 2.13.0: over 60 steps of SGD and AdamW in bfloat16 and float16 the loss stays at its first value; with the block
inside the loop, or without the cache, it falls.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Forward, OptimizerStep
from gclint.run.run import Run
from gclint.run.stepping import is_off
from gclint.run.values import FALSE, NOTHING, Object

from ..words import STEP, TRAINS

SYMPTOM = "silent: the loss does not move, later forwards use the weights of the first step"

rule = Rule(
    code="GCL801",
    name="autocast-spans-steps",
    docs=__doc__ or "",
    words=(("autocast",), STEP, TRAINS),
    certainty=("fails",),
    fixable="safe",
    oracles=("moving", "agrees"),
    reproduction=Reproduction("bad_around_the_loop.py", "bad_around_the_loop.fixed.py", intent=("accumulation",)),
)


@rule.on(OptimizerStep)
def steps_inside(event: OptimizerStep, run: Run) -> Iterator[Finding]:
    """Is one autocast block entered for several steps?"""
    for block in event.moment.contexts:
        if not block.is_a("autocast") or block.site is None or not _spans(block, event):
            continue
        if is_off(block.attributes.get("enabled", NOTHING)) or is_off(block.attributes.get("cache_enabled", NOTHING)):
            continue
        forward = next(
            (item for item in reversed(run.of_type(Forward)) if block in item.moment.contexts and _spans(block, item)),
            None,
        )
        if forward is None:
            return
        yield rule.finding(
            run,
            block.site,
            "this autocast block spans several optimizer steps: its copies of the weights are never made anew",
            guard=event.guard,
            symptom=SYMPTOM,
            fixes=(_without_cache(block),),
            related=[
                (forward.site, "the forward, in a loop inside the block"),
                (event.site, "the weights change here"),
            ],
        )
        return


def _spans(block: Object, event: Forward | OptimizerStep) -> bool:
    depth = block.state.get("depth", FALSE).constant()
    return len(event.moment.loops) > int(depth or 0)


def _without_cache(block: Object) -> Fix | None:
    assert block.site is not None
    if str(block.type).startswith("accelerat"):
        return None
    edit = rewrite.set_argument(block.site, "cache_enabled", "False")
    if edit is None:
        return None
    return Fix(
        "no-cache",
        "Do not cache the weights' copies (cache_enabled=False)",
        (edit,),
        "safe",
        "weights are converted in every use; moving the block into the loop keeps the cache",
        intent=("accumulation",),
    )
