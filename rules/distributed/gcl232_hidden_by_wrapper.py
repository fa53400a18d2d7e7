"""# hidden-by-wrapper (GCL232)

## What it does
Finds a method or an attribute of the model that is asked of its `DistributedDataParallel` or `DataParallel`.

## Why it breaks
The wrapper has what every module has and what it needs itself; whatever else the model has stays in `module`. The run
ends with an AttributeError where the line is reached: at once, or at the first evaluation or checkpoint. It is not seen
on one device, where nothing is wrapped.

## Example
```python
model = DistributedDataParallel(Net())
loss = model.loss(batch)
```

## Use instead
```python
loss = model.module.loss(batch)
```
What needs gradients that are averaged over processes has to go through the wrapper's own call: let `forward` do it.

## When it is fine
What every module has (`parameters`, `train`, `state_dict`); `FullyShardedDataParallel`, a DeepSpeed engine and
`torch.compile`, which pass names on; a class of its own that does, by `__getattr__`; a handler for models that are not
wrapped, whose `try` first of all asks the same of `module`.

## Evidence
torch 2.13.0: "'DistributedDataParallel' object has no attribute 'loss'"; torch/nn/modules/module.py, `__getattr__`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import WrappingMistaken
from gclint.run.parts_of_guards import is_exact
from gclint.run.run import Run
from gclint.run.wrapping import WRAPPERS

rule = Rule(
    code="GCL232",
    name="hidden-by-wrapper",
    docs=__doc__ or "",
    words=(("DataParallel", "DistributedDataParallel"), ("Module",)),
    certainty=("fails", "fragile"),
    fixable="safe",
    oracles=(),
    reproduction=Reproduction(
        "bad_own_loss.py",
        "good_loss_in_forward.py",
        raises="AttributeError: 'DistributedDataParallel' object has no attribute 'loss'",
    ),
)


@rule.on(WrappingMistaken)
def hidden(event: WrappingMistaken, run: Run) -> Iterator[Finding]:
    """Is a wrapper asked for what only the model in it has?"""
    if event.target.kind not in WRAPPERS or not is_exact(event.guard):
        return
    wrapper = event.target.class_name
    yield rule.finding(
        run,
        event.site,
        f"`{event.name}` is the model's, and {wrapper} does not pass it on",
        guard=event.guard,
        certainty="fails" if event.guard <= run.assumed else "fragile",
        symptom=f"AttributeError: '{wrapper}' object has no attribute '{event.name}'",
        related=[(event.target.site, "the model is wrapped here")] if event.target.site is not None else [],
        fixes=(_inside(event),),
    )


def _inside(event: WrappingMistaken) -> Fix | None:
    """Ask the model, where it is wrapped in every way that leads here. What a method computes while autograd records
    has to go through the wrapper: gradients of what the model computes by itself are not averaged.
    """
    node, module = event.site.node, event.site.module
    if not isinstance(node, ast.Attribute) or event.of_alternative:
        return None
    call = module.parents.get(node)
    if isinstance(call, ast.Call) and call.func is node and event.moment.unrecorded() is None:
        return None
    edit = rewrite.put_behind(Site.at(module, node.value), ".module")
    return Fix("ask-the-model", "Ask the model in the wrapper", (edit,), "safe")
