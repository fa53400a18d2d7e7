"""# unused-parameters-under-checkpointing (GCL209)

## What it does
Finds a checkpointed part of a DDP model that only some batches use, while `find_unused_parameters` is off or the
checkpointing is reentrant.

## Why it breaks
DDP waits for the gradient of every parameter. A batch that leaves a part out (text only, for a model that also sees)
makes the next iteration raise `RuntimeError: Expected to have finished reduction in the prior iteration`. With
reentrant checkpointing `find_unused_parameters=True` does not help: it brings the failure of GCL201.

## Example
```python
if pixel_values is not None:
    h = h + checkpoint(self.vision, pixel_values, use_reentrant=False)
```
under `DistributedDataParallel(model)`.

## Use instead
```python
DistributedDataParallel(model, find_unused_parameters=True)  # and use_reentrant=False
```

## When it is fine
Every batch uses the part; the part is frozen; both branches call it.

## Evidence
torch 2.13.0 and transformers 5.23.0, two gloo ranks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.torch_modules import trainable
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import Backward, CheckpointCall, ModuleCalled
from gclint.run.guards import Guard, common
from gclint.run.loops import CUT_SHORT
from gclint.run.parallel import alone, trained, wrapped_by_hand
from gclint.run.run import Run, ways
from gclint.run.shared_fixes import find_unused_on
from gclint.run.values import FALSE, TRUE, Const, Object, root

from ..words import BACKWARD, TURNS_ON

rule = Rule(
    code="GCL209",
    name="unused-parameters-under-checkpointing",
    docs=__doc__ or "",
    words=(("DistributedDataParallel",), BACKWARD, TURNS_ON),
    bears=("processes",),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("missing",),
    reproduction=Reproduction(
        "bad_text_only.py",
        "bad_text_only.fixed.py",
        processes=2,
        raises="RuntimeError: Expected to have finished reduction",
    ),
)


@rule.on(Backward)
def part_left_out(event: Backward, run: Run) -> Iterator[Finding]:
    """Does a batch decide whether a checkpointed part of a DDP model runs?"""
    if alone(run):
        return
    for model in trained(event):
        for guard, ddp in wrapped_by_hand(model, event.guard):
            for region in run.of_type(CheckpointCall):
                part = region.function.only()
                if not isinstance(part, Object) or part.each or root(part) is not model or trainable(part) == "none":
                    continue
                if _is_left_out(part, run) or _decides(region, part, run):
                    yield from _finding(run, ddp, region, guard)


def _is_left_out(part: Object, run: Run) -> bool:
    """Whether some forwards of the model, all of which were walked whole, run the part and others do not."""
    if root(part) in run.facts.get(CUT_SHORT, ()):
        return False
    runs_part: list[bool] = []
    for called in run.of_type(ModuleCalled):
        if called.module is root(part):
            runs_part.append(False)
        elif called.module is part and runs_part:
            runs_part[-1] = True
    return any(runs_part) and not all(runs_part)


def _decides(region: CheckpointCall, part: Object, run: Run) -> bool:
    """Whether the part runs under a condition on a batch only."""
    calls = [item for item in run.of_type(ModuleCalled) if item.module is part]
    outside = [item.guard for item in run.of_type(ModuleCalled) if item.module is root(part)]
    shared = common([item.guard for item in calls] or [region.guard]) - common(outside)
    function = enclosing_function(region.site.module, region.site.node)
    if isinstance(function, ast.Module):
        return False
    names = [param.arg for param in (*function.args.args, *function.args.kwonlyargs)][1:]
    return any(
        atom.each or any(re.search(rf"\b{re.escape(name)}\b", atom.state(True)) for name in names) for atom, _ in shared
    )


def _finding(run: Run, ddp: Object, region: CheckpointCall, guard: Guard) -> Iterator[Finding]:
    for held, (unused, mode) in ways(guard, ddp.state.get("find_unused", FALSE), region.reentrant or TRUE):
        if unused == Const(True) and mode != Const(True):
            continue
        yield rule.finding(
            run,
            region.site,
            "only some batches use this checkpointed part: with the others DDP waits for its gradients",
            guard=held,
            certainty="fragile",
            condition="as soon as a batch leaves it out",
            symptom="RuntimeError: Expected to have finished reduction in the prior iteration",
            related=[(ddp.site, "the model is wrapped here")] if ddp.site is not None else [],
            fixes=(_find_unused(ddp, region, mode == Const(True)),),
        )
        return


def _find_unused(ddp: Object, region: CheckpointCall, reentrant: bool) -> Fix | None:
    edits = [find_unused_on(ddp)]
    if reentrant:
        edits.append(rewrite.set_argument(region.site, "use_reentrant", "False"))
    if any(edit is None for edit in edits):
        return None
    return Fix(
        "find-unused",
        "Let DDP look for unused parameters, behind non-reentrant checkpointing",
        tuple(edit for edit in edits if edit is not None),
        "unsafe",
        "DDP walks the graph in every iteration",
    )
