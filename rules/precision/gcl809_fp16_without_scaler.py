"""# fp16-without-scaler (GCL809)

## What it does
Finds training under float16 autocast without a gradient scaler.

## Why it breaks
The smallest number of float16 is 6e-8: gradients below it become 0, others lose digits. A gradient scaler multiplies
the loss before backward so that they stay in range. Without one small gradients are lost, and nothing is raised.

## Example
```python
with torch.autocast("cuda", dtype=torch.float16):
    loss = model(batch).mean()
loss.backward()
```

## Use instead
```python
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = model(batch).mean()
loss.backward()
```
or `scaler.scale(loss).backward()`, `scaler.step(optimizer)` and `scaler.update()`.

## When it is fine
bfloat16; inference; a scaler, also that of accelerate, Fabric or DeepSpeed. Large gradients survive without one.

## Evidence
torch 2.13.0: 37 % of the gradients are 0 without a scaler, none with one.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Aspect, Edit, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, LibraryCall, RunEnded, ScalerUsed
from gclint.run.guards import all_of
from gclint.run.parallel import forwards_of
from gclint.run.precision import dtype_of, is_half, possible_autocast
from gclint.run.run import Run, ways
from gclint.run.stepping import reaches_a_step
from gclint.run.values import Object

from ..words import BACKWARD

OTHERS = ("accelerator.", "fabric.", "engine.", "lightning")
BY_PLACE = 1
"""Where an autocast takes its dtype by place: behind the device or, in `torch.cuda.amp`, behind `enabled`."""
CHANGES: tuple[Aspect, ...] = ("dtypes", "loss", "gradients", "updates")

rule = Rule(
    code="GCL809",
    name="fp16-without-scaler",
    docs=__doc__ or "",
    words=(("autocast",), BACKWARD),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("gradients",),
    reproduction=Reproduction(
        "bad_float16.py",
        "bad_float16.fixed.py",
        raises="AssertionError: a fifth of the gradients are 0",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def unscaled(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a loss that was computed in float16 go backward as it is?"""
    if not event.whole or any(each.operation == "scale" for each in run.of_type(ScalerUsed)):
        return
    calls = run.of_type(LibraryCall)
    if any("Scaler" in each.name or each.name.endswith(".scale") for each in calls):
        return
    scaled = {each.site.node_id for each in calls if each.name.startswith(OTHERS)}
    for backward in run.of_type(Backward):
        if backward.site.node_id in scaled or not reaches_a_step(backward, run):
            continue
        for forward in forwards_of(backward, run):
            block = possible_autocast(forward.moment)
            around = all_of((backward.guard, block.born)) if block is not None else None
            if block is None or block.site is None or around is None:
                continue
            for guard, (dtype,) in ways(around, dtype_of(block)):
                if is_half(dtype):
                    yield rule.finding(
                        run,
                        block.site,
                        "float16 autocast without a gradient scaler: small gradients become 0",
                        guard=guard,
                        certainty="fragile",
                        symptom="silent: small gradients are lost",
                        related=[(backward.site, "the loss goes backward as it is")],
                        fixes=(_bfloat16(block),),
                    )
                    break


def _bfloat16(block: Object) -> Fix | None:
    assert block.site is not None
    if not any(line.strip() == "import torch" for line in block.site.module.lines):
        return None
    placed = rewrite.positional(block.site, BY_PLACE)
    if placed is not None:
        edit: Edit | None = rewrite.replace(Site.at(block.site.module, placed), "torch.bfloat16")
    else:
        edit = rewrite.set_argument(block.site, "dtype", "torch.bfloat16")
    cost = "needs a GPU with bfloat16; a gradient scaler needs none"
    return Fix("bfloat16", "Use bfloat16", (edit,), "unsafe", cost, intent=CHANGES) if edit is not None else None
