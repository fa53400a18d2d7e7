"""# fully-shard-order (GCL213)

## What it does
Finds `fully_shard` on a model before its parts, and checkpointing of the bare `forward` of a sharded part.

## Why it breaks
`fully_shard` takes all parameters below a module that are not sharded yet. With the whole model first nothing is left
for the layers: `TypeError: Invariant encountered: value was None when it should not be`. `checkpoint(layer.forward, x)`
goes past the hooks that gather the layer's parameters: `got mixed torch.Tensor and DTensor`.

## Example
```python
fully_shard(model)
for layer in model.layers:
    fully_shard(layer)
```

## Use instead
```python
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
```

## When it is fine
Parts first, the whole last; `checkpoint(layer, x)`.

## Evidence
torch 2.13.0, two gloo ranks: both raise; 2.9.1 says of the first "FSDP requires named DeviceMesh dims".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.layout import held_by, on_its_own
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import CheckpointCall, Wrapped
from gclint.run.guards import conj
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, Function, Object

rule = Rule(
    code="GCL213",
    name="fully-shard-order",
    docs=__doc__ or "",
    words=(("fully_shard",),),
    bears=("processes",),
    certainty=("fails",),
    fixable="safe",
    oracles=("AssertionError: FSDP requires named DeviceMesh dims for ND parallelism",),
    reproduction=Reproduction(
        "bad_root_first.py",
        "bad_root_first.fixed.py",
        processes=2,
        needs="torch>=2.9",
        raises="TypeError: Invariant encountered: value was None when it",
    ),
)


@rule.on(Wrapped)
def whole_before_parts(event: Wrapped, run: Run) -> Iterator[Finding]:
    """Is a part sharded after the module that holds it?"""
    holder = event.model.parent
    while event.wrapper.kind == "fsdp2" and holder is not None:
        place = holder.sites.get("sharded")
        for guard, (sharded,) in ways(event.guard, holder.known("sharded")) if place is not None else ():
            if sharded == Const(True) and place is not None:
                yield rule.finding(
                    run,
                    place,
                    "the whole model is sharded before its parts",
                    guard=guard,
                    symptom="TypeError: Invariant encountered: value was None when it should not be",
                    related=[(event.site, "a part of it is sharded here")],
                    fixes=(_last(place, event.site),),
                )
                return
        holder = holder.parent


def _last(whole: Site, part: Site) -> Fix | None:
    """Move the call on the whole model below that on its parts, where both stand in one block."""
    module = whole.module
    line = on_its_own(module, whole.node)
    if (
        module is not part.module
        or line is None
        or (enclosing_function(module, whole.node) is not enclosing_function(module, part.node))
    ):
        return None
    last = held_by(module.block(line), part)
    edits = rewrite.move_after(module, line, last) if last is not None else []
    return Fix("parts-first", "Shard the parts first", tuple(edits)) if edits else None


@rule.on(CheckpointCall)
def bare_forward(event: CheckpointCall, run: Run) -> Iterator[Finding]:
    """Is the bare forward of a sharded module checkpointed?"""
    for guard, item in event.function:
        module = item.receiver if isinstance(item, Function) else None
        if isinstance(item, Object) and item.kind == "forward":
            module = next(iter(item.attributes.get("of", NOTHING).objects()), None)
        both = conj(guard, event.guard)
        if not isinstance(module, Object) or both is None or module in event.moment.forwards:
            continue
        for held, (sharded,) in ways(both, module.known("sharded")):
            if sharded == Const(True):
                place = module.sites.get("sharded")
                yield rule.finding(
                    run,
                    event.site,
                    "the bare forward of a sharded layer is checkpointed: its parameters are not gathered",
                    guard=held,
                    symptom="RuntimeError: got mixed torch.Tensor and DTensor",
                    related=[(place, "the layer is sharded here")] if place is not None else [],
                    fixes=(_module_itself(event.site),),
                )
                return


def _module_itself(site: Site) -> Fix | None:
    first = rewrite.positional(site, 0)
    if not isinstance(first, ast.Attribute) or first.attr != "forward":
        return None
    edit = rewrite.replace(Site.at(site.module, first), site.module.code(first.value))
    return Fix("checkpoint-the-layer", "Checkpoint the layer itself", (edit,))
