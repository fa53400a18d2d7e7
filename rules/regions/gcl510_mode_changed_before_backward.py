"""# mode-changed-before-backward (GCL510)

## What it does
Finds models whose mode or weights change between forward and backward while they are checkpointed.

## Why it breaks
Backward computes the regions again, with the model as it is then: in evaluation mode without dropout, or
with the weights of after the optimizer's step. Gradients are wrong, silently, or `CheckpointError` is
raised where the recomputed tensors have other shapes.

## Example
```python
loss = model(x).mean()
model.eval()
loss.backward()
```

## Use instead
```python
loss = model(x).mean()
loss.backward()
model.eval()
```

## When it is fine
Another model changes; nothing is checkpointed.

## Evidence
torch 2.13.0: dropout 0.3 and `eval()` in between: wrong gradients in both variants; so with
`optimizer.step()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Module
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, Forward, LibraryCall, OptimizerStep
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.values import Object, Value, root

from ..words import BACKWARD, TURNS_ON

rule = Rule(
    code="GCL510",
    name="mode-changed-before-backward",
    docs=__doc__ or "",
    words=(BACKWARD, TURNS_ON, (".train", ".eval", "training")),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("gradients",),
    reproduction=Reproduction(
        "bad_eval.py",
        "bad_eval.fixed.py",
        raises="CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during",
    ),
)


@rule.on(Backward)
def changed(event: Backward, run: Run) -> Iterator[Finding]:
    """Does a checkpointed model change between its forward and this backward?"""
    models = list(dict.fromkeys(item.attributes["of"].objects()[0] for item in event.forwards))
    for model in models:
        regions = [(guard, item) for guard, item in model.known("checkpointing") if isinstance(item, Object)]
        forwards = [other for other in run.of_type(Forward) if root(other.model) is root(model)] if regions else []
        if not forwards:
            continue
        for change in run.of_type(LibraryCall, OptimizerStep, start=run.place(forwards[-1])):
            words = _change(change, model)
            guard = together(event.guard, change.guard, regions[0][0]) if words else None
            if not words or guard is None:
                continue
            yield _finding(run, event, change, guard, words, regions[0][1])
            break


def _change(event: LibraryCall | OptimizerStep, model: Object) -> str:
    if isinstance(event, OptimizerStep):
        return "its weights change" if _holds(event.optimizer.attributes.get("params", Value(())), model) else ""
    if event.call is None or event.call.receiver is None:
        return ""
    last = event.name.rsplit(".", 1)[-1]
    if root(event.call.receiver) is not root(model) or not event.call.receiver.known("training"):
        return ""
    off = last == "train" and event.call.get("mode", 0).constant() is False
    return "it goes into evaluation mode" if last == "eval" or off else ""


def _holds(parameters: Value, model: Object) -> bool:
    return any(item.parent is not None and root(item.parent) is root(model) for item in parameters.objects())


def _finding(
    run: Run, event: Backward, change: LibraryCall | OptimizerStep, guard: Guard, words: str, region: Object
) -> Finding:
    places = [(event.site, "backward computes the regions again here")]
    if region.site is not None:
        places.append((region.site, "checkpointed here"))
    return rule.finding(
        run,
        change.site,
        f"the model is checkpointed, and {words} between forward and backward",
        guard=guard,
        certainty="fragile" if run.open_guard(guard) else "fails",
        symptom="silent: gradients are wrong",
        related=places,
        fixes=(_fix(event, change),),
    )


def _fix(event: Backward, change: LibraryCall | OptimizerStep) -> Fix | None:
    """Move the statement below backward, where both stand in one block."""
    module: Module = event.site.module
    mine = module.statement(change.site.node)
    if change.site.module is not module or not isinstance(mine, ast.Expr):
        return None
    if module.statement(event.site.node) not in module.block(mine):
        return None
    place = module.span(mine)
    text = module.lines[place.line - 1].strip() if place.line == place.end_line else module.code(mine)
    edits = (rewrite.remove_statement(change.site, comments=False), rewrite.insert_after(event.site, text))
    made = tuple(edit for edit in edits if edit is not None)
    return Fix("after-backward", "Do it after backward", made, "unsafe") if len(made) == 2 else None
