"""# no-sync-around-forward-only (GCL207)

## What it does
Finds `no_sync` blocks that hold the forward of a DistributedDataParallel model but not its backward.

## Why it breaks
DDP decides in its forward whether the coming backward averages gradients. With the forward inside `no_sync` the
backward outside does not average, although it looks as if it did; nothing is raised.

## Example
```python
with ddp.no_sync():
    loss = ddp(batch).mean()
loss.backward()
```

## Use instead
```python
with ddp.no_sync():
    loss = ddp(batch).mean()
    loss.backward()
```
or no `no_sync` at all, where this backward is to be averaged.

## When it is fine
Forward and backward both inside; the last micro-batch of an accumulation outside; one forward
outside and another inside, as a condition says, of the same backward; a later backward before the step that averages
what has gathered; code that sets the wrapper's own `require_backward_grad_sync` after the forward.

## Evidence
torch 2.13.0, two gloo ranks: gradients differ between ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import WITHS, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, Backward, Forward, OptimizerStep, RunEnded
from gclint.run.guards import conj
from gclint.run.parallel import alone, forwards_of, since, trained
from gclint.run.run import Run, together
from gclint.run.values import Object

from ..words import BACKWARD

SYMPTOM = "silent: gradients are not averaged over processes"
SYNCHRONISES = "require_backward_grad_sync"  # what no_sync() takes away (torch/nn/parallel/distributed.py)

rule = Rule(
    code="GCL207",
    name="no-sync-around-forward-only",
    docs=__doc__ or "",
    words=(("no_sync",), BACKWARD),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("gradients", "ranks"),
    reproduction=Reproduction("bad_backward_outside.py", "bad_backward_outside.fixed.py", processes=2),
)


@rule.on(RunEnded)
def forward_alone(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Did the forward run in a `no_sync` block that its backward is not in?"""
    for backward in run.of_type(Backward):
        if not alone(run) and backward.moment.inside("no_sync") is None and not _averaged_later(backward, run):
            yield from _forward_alone(backward, run)


def _forward_alone(event: Backward, run: Run) -> Iterator[Finding]:
    same = [each for each in run.of_type(Backward) if each.site.node is event.site.node]
    others = [each for backward in same for each in forwards_of(backward, run)]
    for forward in forwards_of(event, run):
        block = forward.moment.inside("no_sync")
        both = conj(forward.guard, event.guard)
        if block is None or block.site is None or both is None or _asked_again(forward, event, run):
            continue
        if _is_chosen(block, forward, event, run):
            continue
        if any(other.moment.inside("no_sync") is None and _instead(other, forward) for other in others):
            continue
        yield rule.finding(
            run,
            block.site,
            "only the forward is inside `no_sync`: its backward, outside, does not average gradients either",
            guard=both,
            symptom=SYMPTOM,
            fixes=(_without(block.site),),
            related=[(forward.site, "the forward"), (event.site, "the backward")],
        )
        return


def _instead(other: Forward, forward: Forward) -> bool:
    """Whether one forward of a model runs where the other does not: which of them averages is chosen."""
    return other.model is forward.model and conj(other.guard, forward.guard) is None


def _is_chosen(block: Object, forward: Forward, backward: Backward, run: Run) -> bool:
    """Whether the same forward runs without the block too, as a condition says under which no step follows."""
    steps = run.of_type(OptimizerStep, start=run.place(backward))
    return not block.born <= forward.guard and all(together(block.born, step.guard) is None for step in steps)


def _averaged_later(backward: Backward, run: Run) -> bool:
    """Whether a later backward of the same model averages what this one left in the gradients, before they are used."""
    for event in since(run, backward, Backward, OptimizerStep):
        if isinstance(event, OptimizerStep):
            return False
        same = isinstance(event, Backward) and not set(trained(event)).isdisjoint(trained(backward))
        sure = same and event.guard <= backward.guard
        if sure and all(forward.moment.inside("no_sync") is None for forward in forwards_of(event, run)):  # type: ignore[arg-type]
            return True
    return False


def _asked_again(forward: Forward, backward: Backward, run: Run) -> bool:
    """Whether the code itself asks the wrapper to average after all, between the forward and the backward."""
    set_since = run.of_type(AttributeSet, start=run.place(forward))
    return any(
        item.name == SYNCHRONISES
        and item.value.constant() is not False
        and together(item.guard, backward.guard) is not None
        for item in set_since
    )


def _without(site: Site) -> Fix | None:
    """Take the block away, so that the backward averages gradients as it looks like."""
    line = site.module.statement(site.node)
    if not isinstance(line, WITHS) or len(line.items) != 1 or line.items[0].optional_vars is not None:
        return None
    edit = rewrite.unwrap_block(Site.at(site.module, line), line.body)
    if edit is None:
        return None
    return Fix("synchronise", "Run the forward outside `no_sync`", (edit,), "unsafe")
