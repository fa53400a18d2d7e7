"""# optimizer-before-shard (GCL211)

## What it does
Finds optimizers built from a model's parameters before FSDP or `fully_shard` replaces them.

## Why it breaks
Sharding puts new tensors in the place of the parameters. The optimizer keeps the old ones: backward and step run, and
no weight changes.

## Example
```python
optimizer = torch.optim.AdamW(model.parameters())
fully_shard(model)
```

## Use instead
```python
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
```

## When it is fine
`FSDP(..., use_orig_params=True)`; `accelerator.prepare`, which builds the optimizer anew.

## Evidence
torch 2.13.0, two gloo ranks: the loss does not move. pytorch/pytorch#149205, huggingface/accelerate#3394.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.layout import held_by, on_its_own
from gclint.ir.syntax import COMPOUND, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import OptimizerBuilt, OptimizerStep, Wrapped
from gclint.run.guards import all_of
from gclint.run.parallel import inside, models_of, since
from gclint.run.run import Run
from gclint.run.values import Const, root

rule = Rule(
    code="GCL211",
    name="optimizer-before-shard",
    docs=__doc__ or "",
    words=(("fully_shard", "FullyShardedDataParallel"), ("parameters",)),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("gradients", "changed"),
    reproduction=Reproduction("bad_fully_shard.py", "bad_fully_shard.fixed.py", processes=2, needs="torch>=2.9"),
)


@rule.on(OptimizerStep)
def steps_on_whole_parameters(event: OptimizerStep, run: Run) -> Iterator[Finding]:
    """Was the model sharded after this optimizer took its parameters?"""
    for built in run.of_type(OptimizerBuilt):
        if built.optimizer is not event.optimizer:
            continue
        models = models_of(built.parameters)
        shards = [
            item
            for item in since(run, built, Wrapped)
            if isinstance(item, Wrapped) and _replaces(item) and root(inside(item.model)) in models
        ]
        guard = all_of([built.guard, event.guard, *(item.guard for item in shards[:1])])
        if not shards or guard is None:
            continue
        yield rule.finding(
            run,
            built.site,
            "the optimizer takes the parameters before they are sharded: it steps on tensors that are in no model",
            guard=guard,
            symptom="silent: no weight changes",
            related=[(shards[-1].site, "the model is sharded here"), (event.site, "the optimizer steps here")],
            fixes=(_later(built.site, [item.site for item in shards]),),
        )


def _replaces(event: Wrapped) -> bool:
    """Whether the wrapper puts new tensors in the parameters' place."""
    if event.wrapper.kind == "fsdp2":
        return True
    flag = event.wrapper.known("use_orig_params").only()
    return event.wrapper.kind == "fsdp" and not event.wrapper.open and flag == Const(False)


def _later(built: Site, shards: list[Site]) -> Fix | None:
    """Build the optimizer after the last shard, where all stand in one block."""
    module = built.module
    line = on_its_own(module, built.node)
    block = module.block(line) if line is not None else []
    lasts = [held_by(block, site) for site in shards]
    if (
        line is None
        or isinstance(line, COMPOUND)
        or not lasts
        or lasts[-1] is None
        or any(
            site.module is not module or enclosing_function(module, site.node) is not enclosing_function(module, line)
            for site in shards
        )
    ):
        return None
    edits = rewrite.move_after(module, line, lasts[-1])
    passed = block[block.index(line) + 1 : block.index(lasts[-1]) + 1]
    adjacent = all(item in lasts for item in passed)
    return (
        Fix(
            "build-later",
            "Build the optimizer after the model is sharded",
            tuple(edits),
            "safe" if adjacent else "unsafe",
        )
        if edits
        else None
    )
