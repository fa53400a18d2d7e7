"""# fsdp-local-clip-norm (GCL212)

## What it does
Finds torch's `clip_grad_norm_` on the parameters of a model wrapped in FullyShardedDataParallel.

## Why it breaks
Each process holds a shard of every gradient. torch's function takes the norm of that shard alone: every process
clips by another factor, and none by the norm of the whole gradient.

## Example
```python
torch.nn.utils.clip_grad_norm_(fsdp_model.parameters(), 1.0)
```

## Use instead
```python
fsdp_model.clip_grad_norm_(1.0)
```

## When it is fine
`fully_shard` (FSDP2), whose DTensors know the whole norm; `ShardingStrategy.NO_SHARD`; `accelerator.clip_grad_norm_`.

## Evidence
torch 2.13.0, two gloo ranks: another norm on each rank, and smaller than the whole one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.layout import spelled, value_of
from gclint.ir.syntax import arguments
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import GradientsClipped
from gclint.run.parallel import owners
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, External, Object, root

rule = Rule(
    code="GCL212",
    name="fsdp-local-clip-norm",
    docs=__doc__ or "",
    words=(("clip_grad_norm_",), ("FullyShardedDataParallel",)),
    bears=("processes",),
    certainty=("fails",),
    fixable="safe",
    oracles=("clip-ranks",),
    reproduction=Reproduction("bad_clip.py", "bad_clip.fixed.py", processes=2, intent=("collectives",)),
)


@rule.on(GradientsClipped)
def clipped_by_shard(event: GradientsClipped, run: Run) -> Iterator[Finding]:
    """Are gradients clipped by the norm of one process's shard?"""
    if event.call is None or event.call.last != "clip_grad_norm_":
        return
    for owner in owners(event.parameters):
        wrappers = [((frozenset()), (owner,))] if owner.kind == "fsdp" else ways(event.guard, root(owner).known("fsdp"))
        for guard, (fsdp,) in wrappers:
            if not isinstance(fsdp, Object) or _whole(fsdp):
                continue
            yield rule.finding(
                run,
                event.site,
                "the gradients of an FSDP model are clipped by the norm of one process's shard",
                guard=event.guard | guard,
                symptom="silent: each process clips by another factor",
                related=[(fsdp.site, "the model is sharded here")] if fsdp.site is not None else [],
                fixes=(_own_method(event, owner),),
            )
            return


def _whole(fsdp: Object) -> bool:
    """Whether the strategy leaves every process the whole gradient, or cannot be read."""
    strategy = fsdp.attributes.get("sharding_strategy", NOTHING)
    return fsdp.open or any(
        not isinstance(item, External) or item.name.endswith("NO_SHARD")
        for _, item in strategy
        if not isinstance(item, Const)
    )


def _own_method(event: GradientsClipped, owner: Object) -> Fix | None:
    """FSDP's own method, called on what the parameters were taken from."""
    node, module = rewrite.call_node(event.site), event.site.module
    if node is None or owner.kind != "fsdp" or not arguments(node) or event.call is None or event.call.open:
        return None
    given = [item for item in arguments(node) if _names(item, "parameters", "max_norm", "norm_type")]
    first = next((item for item in given if _names(item, "parameters")), None)
    taken = value_of(first) if first is not None else None
    if not isinstance(taken, ast.Call) or not isinstance(taken.func, ast.Attribute) or taken.func.attr != "parameters":
        return None
    text = ", ".join(spelled(module, item) for item in given if item is not first)
    edit = rewrite.replace(event.site, f"{module.code(taken.func.value)}.clip_grad_norm_({text})")
    return Fix("fsdp-clip", "Clip by FSDP's own method", (edit,), intent=("collectives",))


def _names(argument: ast.expr | ast.keyword, *names: str) -> bool:
    """Whether an argument is given by place, or by one of these names."""
    return not isinstance(argument, ast.keyword) or argument.arg is None or argument.arg in names
