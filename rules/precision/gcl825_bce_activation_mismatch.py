"""# bce-activation-mismatch (GCL825)

## What it does
Finds `BCEWithLogitsLoss` of what a sigmoid gave, and `BCELoss` of what none did.

## Why it breaks
`BCEWithLogitsLoss` takes the sigmoid itself: of numbers between 0 and 1 it is between 0.5 and 0.73, so that nothing is
ever told to be 0, and the model hardly learns. `BCELoss` takes none: a raw number below 0 or above 1 raises, on a GPU
as a device-side assertion.

## Example
```python
loss = nn.BCEWithLogitsLoss()(torch.sigmoid(net(x)), y)
```

## Use instead
```python
loss = nn.BCEWithLogitsLoss()(net(x), y)
```

## When it is fine
`BCELoss` after the sigmoid, `BCEWithLogitsLoss` without; a sigmoid for what is shown or measured.

## Evidence
torch 2.13.0: "all elements of input should be between 0 and 1" of `BCELoss` given the output of a Linear; a
`BCEWithLogitsLoss` of a sigmoid cannot fall below 0.31 where every second target is 0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LossComputed
from gclint.run.run import Run

from ..words import LEARNS
from .numbers import CHANGES, given, left_out

LEARNT = "silent: a sigmoid of numbers between 0 and 1 is never near 0, the model hardly learns"
TOLD = "silent: the loss that is told is never near 0, whatever the model has learnt"

rule = Rule(
    code="GCL825",
    name="bce-activation-mismatch",
    docs=__doc__ or "",
    words=(("BCEWithLogitsLoss", "BCELoss", "binary_cross_entropy"), LEARNS),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("gradients", "probabilities"),
    reproduction=Reproduction(
        "bad_sigmoid_twice.py",
        "bad_sigmoid_twice.fixed.py",
        raises="AssertionError: the loss stays above 0.3",
        intent=CHANGES,
    ),
)


@rule.on(LossComputed)
def of_other_numbers(event: LossComputed, run: Run) -> Iterator[Finding]:
    """Is a loss that takes the sigmoid itself given what one gave, or one that takes none what none gave?"""
    if event.name == "binary_cross_entropy_with_logits":
        for guard, numbers, site in given(event.guard, event.given, "sigmoid", "probabilities"):
            function = "sigmoid" if numbers == "sigmoid" else "softmax"
            yield rule.finding(
                run,
                event.site,
                f"this loss takes the sigmoid itself, and is given what a {function} gave",
                guard=guard,
                symptom=LEARNT if event.moment.unrecorded() is None else TOLD,
                related=[(site, f"the {function}")],
                fixes=(left_out(site, run),),
            )
            return
    if event.name == "binary_cross_entropy":
        for guard, numbers, site in given(event.guard, event.given, "raw", "log-probabilities", "log-sigmoid"):
            words = "raw numbers" if numbers == "raw" else "logarithms"
            yield rule.finding(
                run,
                event.site,
                f"this loss takes numbers between 0 and 1, and is given {words}",
                guard=guard,
                symptom="RuntimeError: all elements of input should be between 0 and 1",
                related=[(site, "they are computed here")],
                fixes=(_with_logits(event) if numbers == "raw" else None,),
            )
            return


def _with_logits(event: LossComputed) -> Fix | None:
    """The loss that takes the sigmoid itself, in place of this one."""
    site = event.criterion.site if event.criterion is not None else event.site
    node = site.node if site is not None else None
    if site is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name = "BCEWithLogitsLoss" if event.criterion is not None else "binary_cross_entropy_with_logits"
    edit = rewrite.replace_name(Site.at(site.module, node.func), name)
    return Fix("with-logits", f"Use {name}", (edit,), "unsafe", intent=CHANGES)
