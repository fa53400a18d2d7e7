"""# reentrant-no-grad-input (GCL502)

## What it does
Finds reentrant checkpointing of a region that trains while none of the tensors given to it requires a
gradient.

## Why it breaks
A reentrant region is one autograd function: when none of its inputs requires a gradient, its output
requires none either, and backward never gets inside. Its parameters keep `.grad` None, with nothing but the
warning `None of the inputs have requires_grad=True`. When all that trains lies inside, backward raises
`RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn`.

## Example
```python
model.embed.requires_grad_(False)
hidden = checkpoint(model.block, model.embed(ids), use_reentrant=True)
```

## Use instead
```python
hidden = checkpoint(model.block, model.embed(ids), use_reentrant=False)
```

## When it is fine
Something that trains comes before; everything inside is frozen; evaluation; non-reentrant checkpointing.

## Evidence
torch 2.13.0: 12 of 16 gradients None, silently. pytorch/pytorch#6884, hiyouga/LLaMA-Factory#6357.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding
from gclint.frameworks.torch_modules import trainable
from gclint.rule import Reproduction, Rule
from gclint.run.events import CheckpointCall, RunEnded
from gclint.run.guards import Guard
from gclint.run.regions import module_of, non_reentrant, reentrant_ways, trains, without_gradients
from gclint.run.run import Run, together, weakest
from gclint.run.values import Const, Object, Value, root

from ..words import CHECKPOINTS, TRAINS

SYMPTOM = "silent: .grad stays None behind the warning `None of the inputs have requires_grad=True`"

rule = Rule(
    code="GCL502",
    name="reentrant-no-grad-input",
    docs=__doc__ or "",
    words=(CHECKPOINTS, TRAINS, ("checkpoint",)),
    certainty=("fails", "fragile"),
    fixable="safe",
    oracles=(
        "missing",
        "gradients",
        "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    reproduction=Reproduction("bad_frozen_embedding.py", "bad_frozen_embedding.fixed.py"),
)


@rule.on(RunEnded)
def no_gradient_enters(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a reentrant region that trains get tensors without gradient only?"""
    if not trains(run):
        return
    for region in run.of_type(CheckpointCall):
        if without_gradients(region) or not _learns(region) or (region.call is not None and region.call.open):
            continue
        inputs = [_gradless(value) for value in region.arguments]
        if not inputs or None in inputs:
            continue
        guard = together(
            region.guard,
            weakest(reentrant_ways(region)) or frozenset(),
            *(found for found in inputs if found is not None),
        )
        if guard is None or not reentrant_ways(region):
            continue
        yield rule.finding(
            run,
            region.site,
            "reentrant checkpointing of a region that trains, with inputs that need no gradient: "
            "nothing inside gets one",
            guard=guard,
            certainty="fragile" if run.open_guard(guard) else "fails",
            symptom=SYMPTOM,
            fixes=(non_reentrant(region),),
        )


def _gradless(value: Value) -> Guard | None:
    """The guard under which an argument needs no gradient for certain; None when it may need one."""
    guards = []
    for guard, item in value:
        if isinstance(item, Const):
            continue
        if not isinstance(item, Object) or item.known("grad").constant() is not False:
            return None
        guards.append(guard)
    return weakest(guards) if guards else frozenset()


def _learns(region: CheckpointCall) -> bool:
    module = module_of(region.function)
    if module is None or module.kind == "unknown":
        module = root(region.moment.forwards[-1]) if region.moment.forwards else None
    return module is None or trainable(module) != "none"
