"""# missing-zero-grad (GCL805)

## What it does
Finds training loops with backward and step in which no gradient is ever set to nothing.

## Why it breaks
`backward` adds to the gradients that are there. Without `zero_grad` every step uses the sum of all batches so far:
the loss first falls, then swings or diverges; nothing is raised.

## Example
```python
for batch in loader:
    model(batch).mean().backward()
    optimizer.step()
```

## Use instead
```python
for batch in loader:
    model(batch).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
```

## When it is fine
Gradients cleared every few batches, by `model.zero_grad()`, or by hand: `w.grad.zero_()`,
`w.grad = None`, `del w.grad`.

## Evidence
torch 2.13.0: the gradients of the second step are the sum of two.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, Backward, GradientsCleared, OptimizerBuilt, OptimizerStep, RunEnded
from gclint.run.run import Run
from gclint.run.stepping import looped, optimizer_text, together

from ..words import BACKWARD, STEP

Never = dict[str, tuple[OptimizerStep, list[Backward]]]

rule = Rule(
    code="GCL805",
    name="missing-zero-grad",
    docs=__doc__ or "",
    words=(BACKWARD, STEP),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("uncleared",),
    reproduction=Reproduction("bad_loop.py", "bad_loop.fixed.py", intent=("accumulation",)),
)


@rule.on(RunEnded)
def never_cleared(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a loop add gradients and step, and nothing ever clears them?"""
    if (
        not event.whole
        or run.of_type(GradientsCleared)
        or any(_sets_gradient(item) for item in run.of_type(AttributeSet))
    ):
        return
    backwards = [item for item in run.of_type(Backward) if looped(item) and "inputs" not in item.keywords]
    never: dict[str, tuple[OptimizerStep, list[Backward]]] = {}
    for step in run.of_type(OptimizerStep):
        loops = step.moment.loops
        added = [
            item for item in backwards if loops and item.moment.loops[: len(loops)] == loops and together(item, step)
        ]
        if added and step.optimizer.site is not None and not _fresh(step, run):
            name = optimizer_text(step)
            never.setdefault(name, (step, added))
    if not never:
        return
    step, added = next(iter(never.values()))
    one = len(never) == 1
    edits = _clear_after(never) if one else _clear_before(never)
    title = "Clear the gradients after the step" if one else "Clear the gradients before they are added to"
    fix = Fix("zero-grad", title, edits, "unsafe", intent=("accumulation",))
    yield rule.finding(
        run,
        step.site,
        "gradients are added in every round of this loop and never cleared",
        guard=step.guard,
        certainty="fragile",
        symptom="silent: each step uses the sum of all gradients so far",
        related=[(added[0].site, "gradients are added here")],
        fixes=(fix if edits else None,),
    )


def _sets_gradient(event: AttributeSet) -> bool:
    """Whether a gradient is set or deleted, or its data set."""
    of_gradient = event.target is not None and event.target.text.endswith(".grad")
    return event.name == "grad" or (event.name == "data" and of_gradient)


def _clear_after(never: Never) -> tuple[Edit, ...]:
    """One optimizer's gradients cleared after its step."""
    ((name, (step, _)),) = never.items()
    edit = rewrite.insert_after(step.site, f"{name}.zero_grad()") if name else None
    return (edit,) if edit is not None else ()


def _clear_before(never: Never) -> tuple[Edit, ...]:
    """Several optimizers' gradients, each cleared before the first backward of its block behind another's step: a
    generator's backward adds to its discriminator's gradients as well. () where one has no place."""
    steps = [step.site for step, _ in never.values()]
    places: dict[Site, list[str]] = {}
    for name, (step, added) in never.items():
        own = [each.site for each in added if _in_one_block(each.site, step.site)]
        passed = [each for each in steps if each is not step.site and _in_one_block(each, step.site)]
        late = [each for each in own if all(_in_one_block(other, each) for other in passed)] or own
        if not late or not name:
            return ()
        places.setdefault(late[0], []).append(f"{name}.zero_grad()")
    edits = [rewrite.insert_before(place, *lines) for place, lines in places.items()]
    made = tuple(each for each in edits if each is not None)
    return made if len(made) == len(edits) else ()


def _in_one_block(first: Site, last: Site) -> bool:
    """Whether a statement comes before another in the same block: nothing between them stands further left."""
    start, end = first.location().line, last.location().line
    if first.module is not last.module or start > end:
        return False
    between = [
        line for line in first.module.lines[start - 1 : end] if line.strip() and not line.lstrip().startswith("#")
    ]
    column = len(rewrite.indentation(first))
    return len(rewrite.indentation(last)) == column and all(
        len(line) - len(line.lstrip()) >= column for line in between
    )


def _fresh(step: OptimizerStep, run: Run) -> bool:
    """Whether every round makes an optimizer of its own, as for a model of its own, which has no gradients yet."""
    made = (built for built in run.of_type(OptimizerBuilt) if built.optimizer is step.optimizer)
    return any(step.moment.loops[-1] in built.moment.loops for built in made)
