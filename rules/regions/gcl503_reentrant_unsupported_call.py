"""# reentrant-unsupported-call (GCL503)

## What it does
Finds calls that reentrant checkpointing takes but cannot serve: keyword arguments, results or arguments in
lists and dicts, captured activations, `autograd.grad` and `backward(inputs=...)`.

## Why it breaks
A reentrant region is one autograd function over the tensors that are passed and returned by position.
Keyword arguments raise `ValueError: Unexpected keyword arguments`. Tensors in a returned list or dict are
cut from the graph, and so are those in a list that is passed: gradients are missing or wrong, silently. An
activation that a closure captures is backpropagated twice: `RuntimeError: Trying to backward through the
graph a second time`. `torch.autograd.grad` and `backward(inputs=...)` raise.

## Example
```python
hidden = checkpoint(block, hidden, mask=mask, use_reentrant=True)
```

## Use instead
```python
hidden = checkpoint(block, hidden, mask=mask, use_reentrant=False)
```

## When it is fine
Non-reentrant checkpointing; a flat tuple of results; lists and captured values without gradient history.

## Evidence
torch 2.13.0: ValueError; 4 of 4 gradients None or wrong; RuntimeError. salesforce/BLIP#81.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding
from gclint.ir.layout import gather
from gclint.ir.syntax import DEFINITIONS, parts
from gclint.rule import Reproduction, Rule
from gclint.run.closures import body_of, free_names
from gclint.run.events import Backward, CheckpointCall, LibraryCall
from gclint.run.guards import Guard
from gclint.run.regions import OWN, functions, non_reentrant, reentrant_ways, without_gradients
from gclint.run.run import Run, together, weakest
from gclint.run.values import Const, Function, Object, Value

from ..words import CHECKPOINTS

SECOND_TIME = "RuntimeError: Trying to backward through the graph a second time"
GRAD = "RuntimeError: When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad()"

rule = Rule(
    code="GCL503",
    name="reentrant-unsupported-call",
    docs=__doc__ or "",
    words=(CHECKPOINTS, ("use_reentrant", "CheckpointImpl"), ("checkpoint",)),
    certainty=("fails", "fragile"),
    fixable="safe",
    oracles=("missing", "gradients"),
    reproduction=Reproduction("bad_returns_dict.py", "bad_returns_dict.fixed.py"),
)


@rule.on(CheckpointCall)
def unsupported(event: CheckpointCall, run: Run) -> Iterator[Finding]:
    """Is a reentrant region called in a way that it cannot serve?"""
    guards = event.reentrant.is_const(True)
    if not guards or event.call is None or event.sequential or without_gradients(event):
        return
    guard = together(event.guard, weakest(guards) or frozenset())
    if guard is None:
        return
    extra = sorted(set(event.call.keywords) - {*OWN, "function"})
    if extra:
        yield _finding(
            run,
            event,
            guard,
            f"reentrant checkpointing takes no keyword argument `{extra[0]}`",
            f"ValueError: Unexpected keyword arguments: {extra[0]}",
        )
    elif structure := _returned(event):
        yield _finding(
            run,
            event,
            guard,
            f"the gradients of what is returned in a {structure} are cut off",
            "silent: gradients inside and upstream are missing or wrong",
        )
    elif any(_carries(value) for value in event.arguments):
        yield _finding(
            run,
            event,
            guard,
            "the gradients of tensors passed in a list or dict are lost",
            f"silent where nothing else is passed, else {SECOND_TIME}",
        )
    elif captured := _captured(event):
        yield _finding(
            run,
            event,
            guard,
            f"the activation `{captured}` is captured, not passed: its graph is walked twice",
            SECOND_TIME,
        )


@rule.on(Backward, LibraryCall)
def partial_backward(event: Backward | LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a part of the gradients asked of a model that is checkpointed with reentrant regions?"""
    if isinstance(event, LibraryCall):
        if event.name != "torch.autograd.grad" or event.call is None:
            return
        sources, words, symptom = event.call.get("outputs", 0), "torch.autograd.grad", GRAD
    else:
        if "inputs" not in event.keywords:
            return
        sources, words, symptom = event.loss, "backward(inputs=...)", GRAD
    models = {
        item.attributes["of"].objects()[0]: None
        for loss in sources.objects()
        for item in loss.origins
        if item.kind == "activation"
    }
    for region in run.of_type(CheckpointCall) if models else ():
        if not any(outer in models for item in region.moment.forwards for outer in _around(item)):
            continue
        for way in reentrant_ways(region):
            guard = together(event.guard, region.guard, way)
            if guard is not None and not without_gradients(region):
                yield rule.finding(
                    run,
                    region.site,
                    f"reentrant checkpointing does not work with {words}",
                    guard=guard,
                    symptom=symptom,
                    related=[(event.site, "called here")],
                    fixes=(non_reentrant(region),),
                )
                return


def _around(item: Object) -> Iterator[Object]:
    held: Object | None = item
    while held is not None:
        yield held
        held = held.parent


def _finding(run: Run, event: CheckpointCall, guard: Guard, message: str, symptom: str) -> Finding:
    return rule.finding(
        run,
        event.site,
        message,
        guard=guard,
        symptom=symptom,
        fixes=(non_reentrant(event),),
        certainty="fragile" if run.open_guard(guard) else "fails",
    )


def _returned(event: CheckpointCall) -> str:
    """ "list" or "dict" when the region's own function returns one that is written out there."""
    for function in functions(event.function):
        body = body_of(function.node)
        for result in body if isinstance(function.node, ast.Lambda) else gather(_results, body):
            if isinstance(result, (ast.Dict, ast.List, ast.ListComp, ast.DictComp)):
                return "dict" if isinstance(result, (ast.Dict, ast.DictComp)) else "list"
    return ""


def _results(node: ast.AST) -> Iterator[ast.AST | None]:
    if isinstance(node, ast.Return):
        yield node.value
    elif not isinstance(node, (*DEFINITIONS, ast.Lambda)):
        yield from gather(_results, parts(node))


def _carries(value: Value) -> bool:
    """Whether a value is a list or dict that holds a tensor with gradient."""
    for item in value.objects():
        parts = [*(item.items or []), *(item.entries or {}).values()]
        if item.kind in ("list", "dict") and any(_has_gradient(part) for part in parts):
            return True
    return False


def _has_gradient(value: Value) -> bool:
    return any(item.known("grad").constant() is True for item in value.objects())


def _captured(event: CheckpointCall) -> str:
    for _, item in event.function:
        if isinstance(item, Function) and item.receiver is None:
            for name in free_names(item.node):
                held = item.scope.lookup(name)
                if held is not None and _has_gradient(held) and not _is_parameter(held):
                    return name
    return ""


def _is_parameter(value: Value) -> bool:
    return any(
        (isinstance(item, Object) and item.class_name == "Parameter") or item == Const(None) for _, item in value
    )
