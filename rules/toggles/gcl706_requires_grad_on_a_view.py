"""# requires-grad-on-a-view (GCL706)

## What it does
Finds `requires_grad_(True)` on what a loop over a tensor gives.

## Why it breaks
Iterating over a tensor makes a new view for each row. The flag is set on the views, which are thrown away; the
tensor that goes into the model is as it was, and reentrant checkpointing still sees no input with a gradient.

## Example
```python
for row in batch:
    row.requires_grad_(True)
loss = model(batch).mean()
```

## Use instead
```python
batch.requires_grad_(True)
loss = model(batch).mean()
```

## When it is fine
A list or dict of tensors: their elements are the tensors themselves; views that are used themselves.

## Evidence
torch 2.13.0: `batch.requires_grad` stays False, `batch.grad` None.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.gate import unless
from gclint.ir.layout import gather
from gclint.ir.syntax import FORS, For, Module, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import read_names
from gclint.run.events import AttributeSet, Event, LibraryCall
from gclint.run.run import Run
from gclint.run.values import Object

from ..words import assigned

rule = Rule(
    code="GCL706",
    name="requires-grad-on-a-view",
    docs=__doc__ or "",
    words=(
        *((unless(".requires_grad_", "(False"), *ways) for ways in assigned("requires_grad", "False")),
        ("for",),
    ),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_rows.py",
        "bad_rows.fixed.py",
        raises="AttributeError: 'NoneType' object has no attribute 'sign'",
        intent=("gradients",),
    ),
)


@rule.on(LibraryCall)
def by_method(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is requires_grad_() called on a row of a tensor?"""
    call = event.call
    if (
        call is not None
        and call.last == "requires_grad_"
        and call.receiver is not None
        and (call.get("requires_grad", 0).constant() is not False)
    ):
        yield from _on_view(run, event, call.receiver)


@rule.on(AttributeSet)
def by_attribute(event: AttributeSet, run: Run) -> Iterator[Finding]:
    """Is `requires_grad = True` set on a row of a tensor?"""
    if event.name == "requires_grad" and event.target is not None and event.value.constant() is True:
        yield from _on_view(run, event, event.target)


def _on_view(run: Run, event: Event, item: Object) -> Iterator[Finding]:
    holder = item.parent
    if not item.each or holder is None or holder.kind != "tensor" or holder.items is not None:
        return
    loop = _loop(event.site)
    if loop is None or not isinstance(loop.target, ast.Name) or _used_besides(loop, loop.target.id):
        return
    yield rule.finding(
        run,
        event.site,
        "a gradient is asked for on views of a tensor that are thrown away",
        guard=event.guard,
        symptom="silent: the tensor itself requires no gradient",
        fixes=(_whole(event.site.module, loop),),
        related=[(Site.at(event.site.module, loop.iter), "each round gives a new view of this tensor")],
    )


def _loop(site: Site) -> For | None:
    return next((node for node in site.module.ancestors(site.node) if isinstance(node, FORS)), None)


def _used_besides(loop: For, name: str) -> bool:
    """Whether the loop does anything with its element but ask for the gradient."""
    return list(gather(read_names, loop.body)).count(name) > 1


def _whole(module: Module, loop: For) -> Fix | None:
    """Ask for the tensor's own gradient in place of the loop."""
    if not isinstance(loop.iter, (ast.Name, ast.Attribute)) or len(loop.body) != 1 or loop.orelse:
        return None
    edit = rewrite.replace(Site.at(module, loop), f"{module.code(loop.iter)}.requires_grad_(True)")
    return Fix("whole-tensor", "Ask for the gradient of the tensor itself", (edit,), "unsafe", intent=("gradients",))
