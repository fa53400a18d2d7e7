"""# loss-made-to-require-grad (GCL810)

## What it does
Finds backward of a tensor that was only made to require a gradient, in place of the graph that it came without.

## Why it breaks
`torch.tensor(loss, requires_grad=True)` copies the number and leaves the graph behind; so does `Variable(...)`, and
`loss.requires_grad = True` gives no graph to what was computed through `argmax`, `detach` or a comparison. Backward
then raises nothing, and reaches no parameter: no weight ever moves.

## Example
```python
loss = torch.tensor(loss, requires_grad=True)
loss.backward()
```

## Use instead
```python
loss.backward()
```

## When it is fine
Inputs that are made to require a gradient, for an attack or a saliency map: the loss is computed from them afterwards.

## Evidence
torch 2.13.0: after three steps no weight has moved, and no parameter has a gradient.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.arithmetic import multiples
from gclint.run.events import Backward
from gclint.run.run import Run

from ..words import BACKWARD

CHANGES: tuple[Aspect, ...] = ("trained", "updates", "gradients")

rule = Rule(
    code="GCL810",
    name="loss-made-to-require-grad",
    docs=__doc__ or "",
    words=(("requires_grad",), BACKWARD),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("changed",),
    reproduction=Reproduction("bad_copied.py", "bad_copied.fixed.py", intent=CHANGES),
)


@rule.on(Backward)
def without_graph(event: Backward, run: Run) -> Iterator[Finding]:
    """Does backward start from a tensor that was only asked to require a gradient?"""
    for item in multiples(event.loss):
        site = item.sites.get("asked")
        if site is None:
            continue
        yield rule.finding(
            run,
            site,
            "this asks for a gradient of a tensor without a graph: backward reaches no parameter",
            guard=event.guard,
            symptom="silent: no weight ever moves",
            related=[(event.site, "backward starts from it")],
            fixes=(_plain(site),),
        )
        return


def _plain(site: Site) -> Fix | None:
    """Keep the loss as it is, in place of its copy."""
    node = site.node
    argument = rewrite.positional(site, 0)
    if not isinstance(node, ast.Call) or argument is None or not isinstance(argument, (ast.Name, ast.Attribute)):
        return None
    edit = rewrite.replace(site, site.module.code(argument))
    return Fix("keep", "Keep the loss with its graph", (edit,), "unsafe", intent=CHANGES)
