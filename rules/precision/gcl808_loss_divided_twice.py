"""# loss-divided-twice (GCL808)

## What it does
Finds losses that are divided by the number of accumulated rounds before `accelerator.backward` divides them by it.

## Why it breaks
`Accelerator(gradient_accumulation_steps=N).backward(loss)` divides the loss by N. With a division of one's own the
gradients are N times too small: the learning rate is in effect N times lower than it says. Nothing is raised.

## Example
```python
accelerator = Accelerator(gradient_accumulation_steps=4)
accelerator.backward(loss / 4)
```

## Use instead
```python
accelerator = Accelerator(gradient_accumulation_steps=4)
accelerator.backward(loss)
```

## When it is fine
An Accelerator without that setting; a division by something else, such as the number of tokens.

## Evidence
accelerate 1.15: a loss of 5.0 divided by 2 gives gradients of 1.25 with N = 2, for 2.5.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.arithmetic import multiples
from gclint.run.events import LibraryCall
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, Object

STEPS = "gradient_accumulation_steps"
CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")

rule = Rule(
    code="GCL808",
    name="loss-divided-twice",
    docs=__doc__ or "",
    words=((STEPS,), ("Accelerator",), (".backward",)),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("gradients",),
    reproduction=Reproduction(
        "bad_twice.py", "bad_twice.fixed.py", raises="AssertionError: the gradient is too small", intent=CHANGES
    ),
)


@rule.on(LibraryCall)
def divided_twice(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is what goes into `accelerator.backward` divided by what that divides by?"""
    if event.name != "accelerator.backward" or event.call is None or event.call.receiver is None:
        return
    accelerator = event.call.receiver
    for item in multiples(event.call.get("loss", 0)):
        divisor = item.known("divisor")
        rounds = accelerator.attributes.get(STEPS, NOTHING)
        for guard, (own, other) in ways(event.guard, rounds, divisor):
            if own != other or not isinstance(own, (Const, Object)) or own in (Const(None), Const(1)):
                continue
            site = item.site or event.site
            yield rule.finding(
                run,
                site,
                "the loss is divided by the accumulated rounds, and accelerate divides it by them again",
                guard=guard,
                symptom="silent: the gradients are too small",
                versions=("accelerate",),
                related=[(event.site, "it is divided here as well")],
                fixes=(_once(site),),
            )
            return


def _once(site: Site) -> Fix | None:
    """Leave out the own division."""
    node, module = site.node, site.module
    outer = module.parents.get(node)
    if isinstance(node, ast.BinOp):
        edit = rewrite.replace(site, module.code(node.left))
    elif isinstance(outer, ast.AugAssign):
        removed = rewrite.remove_statement(Site.at(module, outer))
        if removed is None:
            return None
        edit = removed
    else:
        return None
    return Fix("once", "Leave the division to accelerate", (edit,), "unsafe", intent=CHANGES)
