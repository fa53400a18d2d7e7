"""# checkpoint-error-swallowed (GCL512)

## What it does
Finds a try around checkpoint whose handler calls the function without checkpointing.

## Why it breaks
A wrong call of checkpoint raises at once, is caught, and checkpointing is off for the whole run without
anybody noticing until memory runs out. And the errors that the handler is meant for arise when the region
is computed again in backward, outside of the try.

## Example
```python
try:
    return checkpoint(block, x, mask=mask)
except Exception:
    return block(x, mask=mask)
```

## Use instead
```python
return checkpoint(block, x, mask=mask, use_reentrant=False)
```

## When it is fine
The handler raises again; the try stands around an import.

## Evidence
torch 2.13.0: the function ran once instead of twice; an error in recomputation left `backward()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.layout import gather, value_of
from gclint.ir.syntax import TRIES, Site, arguments
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import calls_in, contains
from gclint.run.events import CheckpointCall
from gclint.run.meaning import spellings
from gclint.run.run import Run

from ..words import CHECKPOINTS

rule = Rule(
    code="GCL512",
    name="checkpoint-error-swallowed",
    docs=__doc__ or "",
    words=(CHECKPOINTS, ("checkpoint",), ("except",)),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("recompute",),
    reproduction=Reproduction("bad_keyword.py", "bad_keyword.fixed.py"),
)


@rule.on(CheckpointCall)
def swallowed(event: CheckpointCall, run: Run) -> Iterator[Finding]:
    """Does a handler around the call go on without checkpointing?"""
    node = rewrite.call_node(event.site)
    if node is None or not arguments(node) or not event.moment.handlers:
        return
    place, module = event.moment.handlers[-1], event.site.module
    if place.module is not module or not isinstance(place.node, TRIES):
        return
    function, guarded = spellings(module, value_of(arguments(node)[0])), place.node.body
    for handler in place.node.handlers:
        plain = next((call for call in gather(calls_in, handler.body) if spellings(module, call.func) & function), None)
        if plain is None or not any(contains(part, node, module) for part in guarded) or _raises(handler):
            continue
        fix = None
        if not place.node.orelse and not place.node.finalbody and len(place.node.handlers) == 1:
            edit = rewrite.unwrap_block(place, place.node.body)
            if edit is not None:
                fix = Fix(
                    "no-try", "Take the try away", (edit,), "unsafe", "an error ends the run", intent=("checkpointing",)
                )
        yield rule.finding(
            run,
            event.site,
            "an error here turns checkpointing off and goes unnoticed; an error in backward is not caught",
            guard=event.guard,
            certainty="fragile",
            symptom="silent: the region is not checkpointed",
            related=[(Site.at(module, plain), "called without checkpointing here")],
            fixes=(fix,),
        )
        return


def _raises(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise)
