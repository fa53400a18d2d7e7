"""# stateful-checkpointed-forward (GCL508)

## What it does
Finds checkpointed forwards that change the state of their module: counters, moving averages, caches, and
auxiliary losses that are kept on the module.

## Why it breaks
The forward runs twice in every step. A counter counts double, a moving average moves twice, a cache holds
everything twice, so that the second run computes something else (`CheckpointError: Recomputed values ...
have different metadata`, or silently wrong gradients). An auxiliary loss that a reentrant region stores on
the module has no graph, and contributes no gradient.

## Example
```python
def forward(self, x):
    self.steps += 1
    return x + self.mlp(x) * self.ramp(self.steps)
```

## Use instead
Change the state outside of the region, or return what should be kept.

## When it is fine
An assignment that does not depend on what was there (`self.last = x`), or that moves it (`self.table.to(x.device)`).

## Evidence
torch 2.13.0: counters 2 instead of 1; CheckpointError with a cache; no gradient from an auxiliary loss.
pytorch/pytorch#155171.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gclint.finding import Finding
from gclint.ir.layout import by_place
from gclint.ir.syntax import Module, Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run.events import AttributeSet, CheckpointCall, ModuleCalled, RunEnded
from gclint.run.mutation import own_changes
from gclint.run.regions import called_plainly, functions, non_reentrant, reentrant_ways, region_of, without_gradients
from gclint.run.run import Run
from gclint.run.values import Class, Function, of

from ..words import CHECKPOINTS

rule = Rule(
    code="GCL508",
    name="stateful-checkpointed-forward",
    docs=__doc__ or "",
    words=(CHECKPOINTS, ("checkpoint",)),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("gradients", "buffers"),
    reproduction=Reproduction("bad_moving_average.py", "bad_moving_average.fixed.py", intent=("checkpointing",)),
)


@rule.on(RunEnded)
def stateful(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does code in a region change what it reads the next time?"""
    done = set()
    for called in run.of_type(CheckpointCall, ModuleCalled):
        region = region_of(called, run)
        if region is None or without_gradients(region):
            continue
        for function in functions(called.function if isinstance(called, CheckpointCall) else of(called.module)):
            for place, name in _changes(function):
                if (region.site, place.node_id) in done:
                    continue
                done.add((region.site, place.node_id))
                yield rule.finding(
                    run,
                    place,
                    f"`{name}` changes twice a step: in forward, and when the region is recomputed",
                    guard=region.guard,
                    symptom="silent: the state is wrong; CheckpointError where the result depends on it",
                    related=[(region.site, "checkpointed here")],
                    fixes=(called_plainly(region),),
                )


@rule.on(RunEnded)
def kept_loss(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a reentrant region keep a result on its module, which is read elsewhere?"""
    for change in run.of_type(AttributeSet):
        region = region_of(change, run)
        if region is None or change.target is None or not reentrant_ways(region) or without_gradients(region):
            continue
        if not any(item.known("grad").constant() is True for item in change.value.objects()):
            continue
        if _read_elsewhere(change, {change.site.module, region.site.module, run.entry or change.site.module}):
            yield rule.finding(
                run,
                change.site,
                f"`{change.name}` is computed without a graph: the region is reentrant",
                guard=region.guard,
                symptom="silent: what is kept contributes no gradient",
                certainty="fragile",
                condition="if it enters the loss",
                related=[(region.site, "checkpointed here")],
                fixes=(non_reentrant(region), called_plainly(region)),
            )


def _changes(function: Function) -> Iterator[tuple[Site, str]]:
    given = by_place(function.node)
    if isinstance(function.node, ast.Lambda) or not given or not isinstance(function.owner, Class):
        return
    for statement in function.node.body:
        for node, name in own_changes(statement, given[0]):
            yield Site.at(function.module, node), name


def _read_elsewhere(change: AttributeSet, modules: set[Module]) -> bool:
    """Whether the attribute is read outside of the statement that sets it and off its own class's `self`."""
    name = re.escape(change.name)
    own = dotted(change.site.node) if isinstance(change.site.node, ast.Attribute) else ""
    read = re.compile(rf"[\w\])]\.{name}\b(?!\s*=[^=])")
    return bool(own) and any(read.search(module.text) for module in modules)
