"""# ddp-two-backwards (GCL206)

## What it does
Finds two backwards through one forward of a DistributedDataParallel model.

## Why it breaks
DDP averages gradients once per forward: the first backward uses that up. What the second backward adds stays on its
own process; nothing is raised.

## Example
```python
out = ddp(batch)
out.pow(2).mean().backward(retain_graph=True)
out.abs().mean().backward()
```

## Use instead
```python
(out.pow(2).mean() + out.abs().mean()).backward()
```

## When it is fine
Backwards inside `no_sync`; a forward for each backward; one process.

## Evidence
torch 2.13.0, two gloo ranks: gradients differ between ranks; with the sum they match the reference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site, arguments
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, OptimizerStep
from gclint.run.guards import conj
from gclint.run.parallel import alone, forwards_of, since
from gclint.run.run import Run

from ..words import BACKWARD

SYMPTOM = "silent: the second backward's gradients are not averaged over processes"

rule = Rule(
    code="GCL206",
    name="ddp-two-backwards",
    docs=__doc__ or "",
    words=(("retain_graph",), ("DistributedDataParallel",), BACKWARD),
    bears=("processes", "accumulation"),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("gradients", "ranks"),
    reproduction=Reproduction("bad_two_losses.py", "bad_two_losses.fixed.py", processes=2, intent=("backwards",)),
)


@rule.on(Backward)
def second_backward(event: Backward, run: Run) -> Iterator[Finding]:
    """Has an earlier backward used up the forward that this loss came from?"""
    if alone(run) or _leaves_hooks_alone(event):
        return
    for forward in forwards_of(event, run):
        if forward.through is None or forward.through.kind != "ddp":
            continue
        for earlier in run.of_type(Backward):
            both = conj(earlier.guard, event.guard)
            if earlier is event or earlier.site == event.site or both is None or _leaves_hooks_alone(earlier):
                continue
            if forward.activation in earlier.forwards:
                yield rule.finding(
                    run,
                    event.site,
                    "a second backward through one DDP forward: only the first one's gradients are "
                    "averaged over processes",
                    guard=both,
                    symptom=SYMPTOM,
                    fixes=(_summed(run, earlier, event),),
                    related=[(forward.site, "the forward"), (earlier.site, "the first backward")],
                )
                return


def _leaves_hooks_alone(event: Backward) -> bool:
    return event.moment.inside("no_sync") is not None or "inputs" in event.keywords


def _summed(run: Run, first: Backward, second: Backward) -> Fix | None:
    """One backward of both losses, where the two stand in one block with no step between them."""
    one, two, module = rewrite.call_node(first.site), rewrite.call_node(second.site), first.site.module
    steps = [item for item in since(run, first, OptimizerStep, Backward) if item is not second]
    if (
        one is None
        or two is None
        or module is not second.site.module
        or (steps and run.place(steps[0]) < run.place(second))
    ):
        return None
    if not isinstance(one.func, ast.Attribute) or not isinstance(two.func, ast.Attribute) or arguments(two):
        return None
    upper = module.statement(one)
    if upper is None or module.statement(two) not in module.block(upper):
        return None
    removed = rewrite.remove_statement(first.site)
    losses = f"({module.code(one.func.value)} + {module.code(two.func.value)})"
    edit = rewrite.replace(Site.at(module, two.func.value), losses)
    if removed is None:
        return None
    return Fix("one-backward", "Add the losses and run backward once", (removed, edit), "unsafe", intent=("backwards",))
