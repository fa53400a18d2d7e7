"""# scalar-indexed (GCL911)

## What it does
Finds `loss.data[0]`: an element of a loss, or of another tensor without a dimension.

## Why it breaks
Before torch 0.4 a loss was a tensor of one element. Since then it has no dimension, and since 0.5 `loss[0]` raises
IndexError, mostly in the first step.

## Example
```python
loss = criterion(model(x), y)
total += loss.data[0]
```

## Use instead
```python
total += loss.item()
```

## When it is fine
`reduction="none"`, `mean(0)`, `view(1)`, `unsqueeze(0)`: these have dimensions. Torch before 0.5.

## Evidence
torch 2.13.0: "invalid index of a 0-dim tensor. Use `tensor.item()` in Python"; the notes of torch 0.4 announce it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import ScalarIndexed
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run

SINCE = Version("0.5")

rule = Rule(
    code="GCL911",
    name="scalar-indexed",
    docs=__doc__ or "",
    words=((".data[0]",), ("torch",)),
    certainty=("fragile",),
    fixable="safe",
    holds="torch >= 0.5",
    oracles=(),
    reproduction=Reproduction(
        "bad_running_loss.py", "bad_running_loss.fixed.py", raises="IndexError: invalid index of a 0-dim tensor"
    ),
)


@rule.on(ScalarIndexed)
def indexed(event: ScalarIndexed, run: Run) -> Iterator[Finding]:
    """Is an element taken of a tensor that has no dimension?"""
    version, node = run.targets.version("torch"), event.site.node
    if (version is not None and version < SINCE) or not isinstance(node, ast.Subscript):
        return
    if compares_release(event.guard, "torch"):
        return
    yield rule.finding(
        run,
        event.site,
        "this tensor has no dimension, so that it has no elements: its number is `.item()`",
        guard=event.guard,
        certainty="fragile",
        symptom="IndexError: invalid index of a 0-dim tensor",
        fixes=(_item(event, node),),
    )


def _item(event: ScalarIndexed, node: ast.Subscript) -> Fix | None:
    """Take the number, where the code reads it."""
    if not isinstance(node.ctx, ast.Load):
        return None
    data = isinstance(node.value, ast.Attribute) and node.value.attr == "data"
    held = node.value.value if data and isinstance(node.value, ast.Attribute) else node.value
    edit = rewrite.replace(event.site, f"{event.site.module.code(held)}.item()")
    return Fix("item", "Take its number", (edit,), "safe")
