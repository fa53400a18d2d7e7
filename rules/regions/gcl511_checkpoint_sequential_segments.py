"""# checkpoint-sequential-segments (GCL511)

## What it does
Finds `checkpoint_sequential` with one segment, with more segments than there are functions, or with two
inputs.

## Why it breaks
The last segment is never checkpointed: with one segment nothing is, and no memory is saved. More segments
than functions raise `ValueError: range() arg 3 must not be zero`. The function takes one input; a second
one is taken for `use_reentrant` and raises.

## Example
```python
x = checkpoint_sequential(self.layers, 1, x, use_reentrant=False)
```

## Use instead
```python
x = checkpoint_sequential(self.layers, 2, x, use_reentrant=False)
```

## When it is fine
At least two segments, at most as many as there are functions.

## Evidence
torch 2.13.0: one segment: every layer ran once; 5 segments of 4 layers raise; a second tensor: TypeError.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import CheckpointCall
from gclint.run.run import Run
from gclint.run.values import Object, Value

SECOND = "TypeError: checkpoint_sequential() got multiple values for argument 'use_reentrant'"

rule = Rule(
    code="GCL511",
    name="checkpoint-sequential-segments",
    docs=__doc__ or "",
    words=(("checkpoint_sequential",),),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_more_than_layers.py", "bad_more_than_layers.fixed.py", raises="ValueError: range() arg 3 must not be zero"
    ),
)


@rule.on(CheckpointCall)
def segments(event: CheckpointCall, run: Run) -> Iterator[Finding]:
    """Is a sequence cut into as many segments as it can be, and more than one?"""
    call = event.call
    if not event.sequential or call is None:
        return
    count, length = call.get("segments", 1).constant(), _length(event.function)
    if len(event.arguments) > 1 and isinstance(event.arguments[1].only(), Object):
        yield rule.finding(
            run,
            event.site,
            "checkpoint_sequential passes one input: the second is not one",
            guard=event.guard,
            symptom=SECOND,
        )
    elif count == 1 and length != 1:
        yield rule.finding(
            run,
            event.site,
            "the last segment is never checkpointed, and there is only one",
            guard=event.guard,
            symptom="silent: nothing is recomputed, no memory is saved",
            fixes=(_fix(event, "2"),),
        )
    elif isinstance(count, int) and length and count > length:
        yield rule.finding(
            run,
            event.site,
            f"{count} segments of {length} functions",
            guard=event.guard,
            symptom="ValueError: range() arg 3 must not be zero",
            fixes=(_fix(event, str(length)),),
        )


def _length(functions: Value) -> int:
    """How many functions there are; 0 when that is not known."""
    item = functions.only()
    if not isinstance(item, Object) or item.each or item.open or item.items is None:
        return 0
    return 0 if any(part.each for value in item.items for part in value.objects()) else len(item.items)


def _fix(event: CheckpointCall, text: str) -> Fix | None:
    held = rewrite.argument(event.site, "segments")
    first = rewrite.positional(event.site, 0)
    place = held.value if held is not None else rewrite.positional(event.site, 1) if first is not None else None
    edit: Edit | None = rewrite.replace(Site.at(event.site.module, place), text) if place is not None else None
    return (
        Fix("segments", f"Cut it into {text} segments", (edit,), "unsafe", intent=("checkpointing",))
        if edit is not None
        else None
    )
