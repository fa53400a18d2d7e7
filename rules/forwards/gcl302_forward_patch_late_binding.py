"""# forward-patch-late-binding (GCL302)

## What it does
Finds layers whose forward is replaced in a loop by a function that reads the loop's own variables.

## Why it breaks
The function looks the names up when it is called, and by then the loop has ended: every patched layer runs
the last one's forward. The model computes something else and only one layer trains, without an error. When
the name leads back to the attribute that is replaced, the call ends in `RecursionError: maximum recursion
depth exceeded`.

## Example
```python
for layer in model.layers:
    forward = layer.forward
    layer.forward = lambda *args: checkpoint(forward, *args, use_reentrant=False)
```

## Use instead
```python
for layer in model.layers:
    layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)
```

## When it is fine
A factory makes the function; the names are bound as defaults; only one layer is patched before the loop
ends.

## Evidence
torch 2.13.0: three layers, one of them gets all gradients; RecursionError where the lambda reads
`layer.forward`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.layout import gather
from gclint.ir.syntax import FUNCTIONS, Site, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import body_of, forwarding, late_bound, parameter_edit, partial_name, read_names
from gclint.run.events import ForwardPatched
from gclint.run.run import Run
from gclint.run.values import Alternative, Function, Partial

from ..words import assigned

WRONG = "silent: every patched layer runs the forward of the last one"
ENDLESS = "RecursionError: maximum recursion depth exceeded"

rule = Rule(
    code="GCL302",
    name="forward-patch-late-binding",
    docs=__doc__ or "",
    words=(*assigned("forward"), ("lambda", "def"), ("for", "while")),
    fixable="safe",
    oracles=("changed", "agrees"),
    reproduction=Reproduction("bad_lambda.py", "bad_lambda.fixed.py", intent=("loss", "trained", "updates")),
)


@rule.on(ForwardPatched)
def late(event: ForwardPatched, run: Run) -> Iterator[Finding]:
    """Does the new forward read names that the loop binds anew?"""
    for guard, item in event.value:
        function = _function(item)
        names = late_bound(function, event.moment.loops) if function is not None else []
        if function is None or not names:
            continue
        place = Site.at(function.module, function.node)
        own = _own_attribute(event, function)
        said = " and ".join(f"`{name}`" for name in names)
        yield rule.finding(
            run,
            event.site,
            f"the new forward looks {said} up when it is called, after the loop has moved on",
            guard=event.guard | guard,
            symptom=ENDLESS if own else WRONG,
            related=[(place, "the function that reads the loop's variable")],
            fixes=(_fix(event, function, names, own),),
        )
        return


def _function(item: Alternative) -> Function | None:
    while isinstance(item, Partial):
        item = item.function
    return item if isinstance(item, Function) else None


def _own_attribute(event: ForwardPatched, function: Function) -> str:
    """The attribute that is replaced, if the function calls it or its layer; "" if it does not."""
    target = event.site.node
    if not isinstance(target, ast.Attribute) or event.site.module is not function.module:
        return ""
    own, module = function.module.code(target), function.module
    calls = forwarding(function)
    layer = module.code(target.value)
    reads = any(
        isinstance(node, ast.Attribute) and module.code(node) == own for node in gather(nodes, body_of(function.node))
    )
    return own if reads or (calls is not None and layer in calls[:2]) else ""


def _fix(event: ForwardPatched, function: Function, names: list[str], own: str) -> Fix | None:
    module, place = function.module, Site.at(function.module, function.node)
    title = "Bind the loop's variable where the function is made"
    parts = forwarding(function, {own.rpartition(".")[0]: own} if own else {})
    if parts is not None:
        name, line = partial_name(module)
        made = f"{name}({', '.join(parts)})"
        if isinstance(function.node, FUNCTIONS):
            made = f"{function.node.name} = {made}"
        edits: list[Edit] = rewrite.ensure_import(module, line) if line else []
        return Fix("partial", title, (*edits, rewrite.replace(place, made)), intent=("loss", "trained", "updates"))
    if not own:
        text = ", ".join(f"{name}={name}" for name in names)
        return Fix("bind", title, (parameter_edit(function, text),), intent=("loss", "trained", "updates"))
    spots = [
        Site.at(module, node)
        for node in gather(nodes, body_of(function.node))
        if isinstance(node, ast.Attribute) and module.code(node) == own
    ]
    if not spots or set(names) - set(own.split(".")) or "forward" in set(gather(read_names, body_of(function.node))):
        return None
    inner = [rewrite.replace(spot, "forward") for spot in spots]
    return Fix(
        "bind", title, (parameter_edit(function, f"forward={own}"), *inner), intent=("loss", "trained", "updates")
    )
