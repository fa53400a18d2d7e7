"""# kl-div-of-probabilities (GCL826)

## What it does
Finds `F.kl_div` and `KLDivLoss` whose first argument is no logarithm of probabilities.

## Why it breaks
The first argument of `kl_div` is the logarithm of the model's probabilities, the second the target's probabilities.
Given probabilities or raw numbers it computes something that is no divergence: it is negative where both are equal, and
its gradients point elsewhere. Nothing is raised.

## Example
```python
loss = F.kl_div(F.softmax(student(x), dim=-1), F.softmax(teacher(x), dim=-1), reduction="batchmean")
```

## Use instead
```python
loss = F.kl_div(F.log_softmax(student(x), dim=-1), F.softmax(teacher(x), dim=-1), reduction="batchmean")
```

## When it is fine
`log_softmax`, or the logarithm of probabilities, as the first argument; `log_target=True` is about the second.

## Evidence
torch 2.13.0: -1.72 for two equal distributions; of two others the gradient's cosine with the right one is 0.73.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site, keyword
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, LossComputed
from gclint.run.run import Run

from .numbers import CHANGES, given

rule = Rule(
    code="GCL826",
    name="kl-div-of-probabilities",
    docs=__doc__ or "",
    words=(("kl_div", "KLDivLoss"),),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("gradients",),
    reproduction=Reproduction(
        "bad_softmax.py", "bad_softmax.fixed.py", raises="AssertionError: a divergence below zero", intent=CHANGES
    ),
)


@rule.on(LossComputed)
def of_no_logarithm(event: LossComputed, run: Run) -> Iterator[Finding]:
    """Is the first argument something else than the logarithm of probabilities?"""
    if event.name != "kl_div":
        return
    for guard, numbers, site in given(event.guard, event.given, "probabilities", "sigmoid", "raw"):
        words = "raw numbers" if numbers == "raw" else "probabilities"
        yield rule.finding(
            run,
            event.site,
            f"the first argument of kl_div is to be a logarithm of probabilities, and is {words}",
            guard=guard,
            symptom="silent: the loss is no divergence, its gradients point elsewhere",
            related=[(site, "they are computed here")],
            fixes=(_logarithm(event, site, run) if numbers == "probabilities" else None,),
        )
        return


def _logarithm(event: LossComputed, made: Site, run: Run) -> Fix | None:
    """Take the logarithm: with the softmax, where a function or a tensor's method of that name is the argument."""
    node, module = event.site.node, event.site.module
    named = keyword(node, "input") if isinstance(node, ast.Call) else None
    argument = named.value if named is not None else rewrite.positional(event.site, 0)
    called = argument.func if isinstance(argument, ast.Call) and argument is made.node else None
    function = any(each.site is made and each.name.endswith("softmax") for each in run.of_type(LibraryCall))
    if isinstance(called, ast.Attribute) and called.attr == "softmax" and function:
        edit = rewrite.replace_name(Site.at(module, called), "log_softmax")
    elif isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        edit = rewrite.put_behind(Site.at(module, argument), ".log()")
    else:
        return None
    return Fix("logarithm", "Give it the logarithm", (edit,), "unsafe", intent=CHANGES)
