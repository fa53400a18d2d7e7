"""# batchnorm-in-checkpoint (GCL507)

## What it does
Finds batch normalisation that keeps running statistics inside a checkpointed region.

## Why it breaks
The region runs twice in every step, and the running mean and variance are updated both times: with momentum
0.1 they move as with 0.19. Gradients are right, so training looks fine; evaluation uses other statistics
than were meant.

## Example
```python
x = checkpoint(self.block, x, use_reentrant=False)  # the block holds nn.BatchNorm2d
```

## Use instead
```python
x = self.block(x)
```
Or checkpoint the parts before and after the normalisation, or one without running statistics.

## When it is fine
The layer is in evaluation mode, or has `track_running_stats=False`.

## Evidence
torch 2.13.0: num_batches_tracked 2 instead of 1, running mean off by 1.9. pytorch/pytorch#96136.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding
from gclint.rule import Reproduction, Rule
from gclint.run.closures import enclosing_function
from gclint.run.events import CheckpointCall, ModuleCalled, RunEnded
from gclint.run.regions import called_plainly, region_of, trains, without_gradients
from gclint.run.run import Run, together
from gclint.run.values import NOTHING, Object

from ..words import CHECKPOINTS

rule = Rule(
    code="GCL507",
    name="batchnorm-in-checkpoint",
    docs=__doc__ or "",
    words=(CHECKPOINTS, ("checkpoint",), ("BatchNorm",)),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("buffers",),
    reproduction=Reproduction("bad_block.py", "bad_block.fixed.py", intent=("checkpointing",)),
)


@rule.on(RunEnded)
def updated_twice(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a region update running statistics?"""
    done = set()
    for called in run.of_type(ModuleCalled):
        if "BatchNorm" not in called.module.class_name or _still(called.module) or without_gradients(called):
            continue
        region = region_of(called, run)
        if region is None or region.site in done:
            continue
        guard = together(region.guard, called.guard)
        if guard is None or _is_made_anew(called, region):
            continue
        done.add(region.site)
        place = called.module.site
        yield rule.finding(
            run,
            region.site,
            "batch normalisation inside the region updates its running statistics twice a step",
            guard=guard,
            certainty="fails" if trains(run) else "fragile",
            symptom="silent: running mean and variance move twice as fast",
            related=[(place, "normalised here")] if place is not None else (),
            fixes=(called_plainly(region),),
        )


def _still(module: Object) -> bool:
    """Whether a layer keeps no statistics, or is told not to change them."""
    if module.attributes.get("track_running_stats", NOTHING).is_const(False):
        return True
    held: Object | None = module
    while held is not None:
        if held.known("training").constant() is False:
            return True
        held = held.parent
    return False


def _is_made_anew(called: ModuleCalled, region: CheckpointCall) -> bool:
    """Whether the layer is made where it is called, in the region: its statistics end with the call."""
    made, at = called.module.site, called.site
    if made is None or at.node is region.site.node or made.module is not at.module:
        return False
    return enclosing_function(made.module, made.node) is enclosing_function(at.module, at.node)
