"""# checkpoint-late-binding (GCL504)

## What it does
Finds functions given to checkpoint that read a variable which is bound anew before backward.

## Why it breaks
The region is computed again in backward, when the loop has ended: the lambda then runs the last layer, or
reads the last activation. Reentrant checkpointing sends every layer's gradient to the last layer;
non-reentrant checkpointing computes wrong gradients without an error as long as the shapes agree, else it
raises `CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors have different
metadata`.

## Example
```python
for layer in self.layers:
    x = checkpoint(lambda h: layer(h), x, use_reentrant=False)
```

## Use instead
```python
for layer in self.layers:
    x = checkpoint(layer, x, use_reentrant=False)
```

## When it is fine
The name is bound as a default, or by a factory; backward runs in the same round of the loop.

## Evidence
torch 2.13.0: both variants train the last layer only, or all layers wrongly; correct with `layer=layer`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.layout import line_of
from gclint.ir.syntax import FUNCTIONS, Site
from gclint.rule import Reproduction, Rule
from gclint.run.closures import contains, enclosing_function, free_names, parameter_edit, rebinding_loops, varying_names
from gclint.run.events import Backward, CheckpointCall, RunEnded
from gclint.run.run import Run
from gclint.run.values import Alternative, Function, Partial

from ..words import CHECKPOINTS

SYMPTOM = "silent: backward recomputes another layer, and gradients are wrong"

rule = Rule(
    code="GCL504",
    name="checkpoint-late-binding",
    docs=__doc__ or "",
    words=(CHECKPOINTS, ("checkpoint",), ("lambda", "def")),
    fixable="safe",
    oracles=("gradients",),
    reproduction=Reproduction("bad_lambda.py", "bad_lambda.fixed.py"),
)


@rule.on(RunEnded)
def late(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a region read names that are bound anew before it is recomputed?"""
    backwards = run.of_type(Backward)
    for region in run.of_type(CheckpointCall):
        for guard, item in region.function:
            function = _function(item)
            names = late_names(function, region, backwards) if function is not None else []
            if function is None or not names or contains(function.node, region.site.node, region.site.module):
                continue
            place = Site.at(function.module, function.node)
            said = " and ".join(f"`{name}`" for name in names)
            text = ", ".join(f"{name}={name}" for name in names)
            fix = Fix("bind", "Bind the names where the function is made", (parameter_edit(function, text),))
            message = f"the checkpointed function reads {said} again in backward, bound to something else by then"
            yield rule.finding(
                run,
                place,
                message,
                guard=region.guard | guard,
                symptom=SYMPTOM,
                related=[(region.site, "recomputed for this call")],
                fixes=(fix,),
            )


def _function(item: Alternative) -> Function | None:
    while isinstance(item, Partial):
        item = item.function
    return item if isinstance(item, Function) and item.receiver is None else None


def late_names(function: Function, region: CheckpointCall, backwards: list[Backward]) -> list[str]:
    """The free names of a region's function that no longer hold the same thing in backward."""
    loops = rebinding_loops(function, region.moment.loops)
    trained = [each.node for event in backwards for each in event.moment.loops]
    open_ = [loop for loop in loops if not any(loop is each for each in trained)]
    rebound = {name for loop in open_ for name in varying_names(loop)} | _bound_after(function, region, backwards)
    return [name for name in free_names(function.node) if name in rebound and name not in function.defaults]


def _bound_after(function: Function, region: CheckpointCall, backwards: list[Backward]) -> set[str]:
    """The names that the function around binds again below the call, with no backward in that function."""
    module, scope = function.module, enclosing_function(function.module, function.node)
    if scope is module.tree or any(enclosing_function(module, event.site.node) is scope for event in backwards):
        return set()
    own = line_of(module, function.node)
    block = module.block(own[0]) if own else []
    made = isinstance(function.node, FUNCTIONS)
    names: set[str] = set()
    for statement in block[block.index(own[0]) + made :] if own else ():
        names |= varying_names(statement)
        if isinstance(statement, ast.Return):
            break
    return names
