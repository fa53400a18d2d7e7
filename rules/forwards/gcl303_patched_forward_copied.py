"""# patched-forward-copied (GCL303)

## What it does
Finds models that are copied, or saved as a whole, while a layer's forward is a lambda or an inner function.

## Why it breaks
A copy shares functions with the original: the layers of the copy (an average, a target network) run the
original's weights, and the copy's own are never used. `torch.save(model)` raises `AttributeError: Can't
pickle local object` (or PicklingError for a lambda).

## Example
```python
layer.forward = lambda *args, plain=layer.forward: checkpoint(plain, *args, use_reentrant=False)
average = copy.deepcopy(model)
```

## Use instead
```python
layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)
```

## When it is fine
A partial of the layer's own forward: it is copied and pickled with the layer. Saving the state dict.

## Evidence
torch 2.13.0: the copy was set to zero and its output did not change; a partial is copied, saved and loaded
right.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.syntax import FUNCTIONS, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import forwarding, free_names, partial_name
from gclint.run.events import ForwardPatched, LibraryCall
from gclint.run.run import Run, together
from gclint.run.values import Function, Object, Value, root

from ..words import assigned

COPIED = "silent: the copy's layers run the original's weights"
PICKLED = "AttributeError: Can't pickle local object"
COPIES = ("copy.deepcopy", "torch.optim.swa_utils.AveragedModel")

rule = Rule(
    code="GCL303",
    name="patched-forward-copied",
    docs=__doc__ or "",
    words=(*assigned("forward"), ("deepcopy", "AveragedModel", "save")),
    certainty=("fails", "fragile"),
    fixable="safe",
    oracles=("agrees",),
    reproduction=Reproduction("bad_target_network.py", "bad_target_network.fixed.py", intent=("loss",)),
)


@rule.on(LibraryCall)
def copied(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a model copied or pickled whose layers run functions of the project?"""
    if event.call is None or event.name not in (*COPIES, "torch.save"):
        return
    models = {root(item) for item in _modules(event.call.positional[0] if event.call.positional else Value(()))}
    for patch in run.of_type(ForwardPatched):
        held = patch.target.attributes.get("forward")
        if held is None or root(patch.target) not in models:
            continue
        for inner, item in held:
            guard = together(event.guard, patch.guard, inner)
            if guard is None or not isinstance(item, Function) or not _closes_over(item):
                continue
            saved = event.name == "torch.save"
            what = (
                "pickled, which a local function cannot be"
                if saved
                else "copied, and the copy's layer still runs the original's forward"
            )
            yield rule.finding(
                run,
                event.site,
                f"a model whose forward is replaced by a local function is {what}",
                guard=guard,
                certainty="fragile" if run.open_guard(guard) else "fails",
                symptom=PICKLED if saved else COPIED,
                related=[(patch.site, "the forward is replaced here")],
                fixes=(_fix(item),),
            )
            return


def _modules(value: Value) -> Iterator[Object]:
    for item in value.objects():
        if item.kind in ("module", "modules", "model", "layer", "ddp"):
            yield item
        for entry in (item.entries or {}).values() if item.kind == "dict" and not item.type else ():
            yield from (part for part in entry.objects() if part.kind in ("module", "modules", "model", "layer"))


def _closes_over(function: Function) -> bool:
    """Whether a function is one that pickle does not find, and that holds on to things around it."""
    local = isinstance(function.node, ast.Lambda) or function.scope.parent is not None
    return function.receiver is None and local and bool(free_names(function.node) or function.defaults)


def _fix(function: Function) -> Fix | None:
    parts = forwarding(function)
    if parts is None:
        return None
    name, line = partial_name(function.module)
    made = f"{name}({', '.join(parts)})"
    if isinstance(function.node, FUNCTIONS):
        made = f"{function.node.name} = {made}"
    edits: list[Edit] = rewrite.ensure_import(function.module, line) if line else []
    place = Site.at(function.module, function.node)
    return Fix(
        "partial",
        "Make it a partial, which is copied and pickled with the layer",
        (*edits, rewrite.replace(place, made)),
        intent=("loss",),
    )
