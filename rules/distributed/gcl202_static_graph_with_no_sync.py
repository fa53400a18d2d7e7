"""# static-graph-with-no-sync (GCL202)

## What it does
Finds a static DDP graph in a run that skips gradient synchronisation in some steps: `no_sync`, or gradient
accumulation above one.

## Why it breaks
With a static graph DDP learns the order of gradients in the first iteration. When that iteration does not
synchronise, the reducer meets a graph it never saw: `expect_autograd_hooks_ INTERNAL ASSERT FAILED`.

## Example
```python
args = TrainingArguments("out", ddp_static_graph=True, gradient_accumulation_steps=4)
```

## Use instead
```python
args = TrainingArguments("out", gradient_accumulation_steps=4,
                         gradient_checkpointing_kwargs={"use_reentrant": False})
```

## When it is fine
No accumulation; a first iteration that synchronises.

## Evidence
torch 2.13.0, two gloo ranks. pytorch/pytorch#143580, pytorch/pytorch#187732, huggingface/accelerate#3679.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, TrainerStarted
from gclint.run.guards import Guard
from gclint.run.run import Run, ways
from gclint.run.values import Const, Object

SYMPTOM = "RuntimeError: expect_autograd_hooks_ INTERNAL ASSERT FAILED"

rule = Rule(
    code="GCL202",
    name="static-graph-with-no-sync",
    docs=__doc__ or "",
    words=(
        ("static_graph", "_set_static_graph", "ddp_static_graph"),
        ("no_sync", "gradient_accumulation_steps", "accumulate"),
    ),
    bears=("processes", "accumulation"),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_no_sync.py",
        "bad_no_sync.fixed.py",
        processes=2,
        raises="RuntimeError: expect_autograd_hooks_ INTERNAL ASSERT FAILED",
    ),
)


@rule.on(TrainerStarted)
def accumulates_in_trainer(event: TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a library's trainer accumulate over a static graph?"""
    for model in event.models:
        for guard, ddp in ways(event.guard, model.known("ddp")):
            wrapper = ddp[0]
            if isinstance(wrapper, Object):
                yield from _accumulating(run, wrapper, guard)


@rule.on(Backward)
def unsynchronised_backward(event: Backward, run: Run) -> Iterator[Finding]:
    """Is there a backward in `no_sync` before the first one that synchronises?"""
    context = event.moment.inside("no_sync")
    for activation in event.forwards:
        model = activation.attributes["of"].objects()[0]
        for guard, (wrapper,) in ways(event.guard, model.known("ddp")):
            if not isinstance(wrapper, Object):
                continue
            if context is None:
                yield from _accumulating(run, wrapper, guard)
                continue
            for held, (static,) in ways(guard, wrapper.known("static_graph")):
                if static == Const(True) and not _synchronised_before(event, run):
                    place = context.site if context.site is not None else event.site
                    yield _finding(run, wrapper, held, place, "this block skips the synchronisation")


def _synchronised_before(event: Backward, run: Run) -> bool:
    """Whether an earlier backward, outside this one's loops, synchronised."""
    return any(
        earlier is not event and earlier.moment.inside("no_sync") is None and not earlier.moment.loops
        for earlier in run.of_type(Backward)
    )


def _accumulating(run: Run, ddp: Object, guard: Guard) -> Iterator[Finding]:
    for held, (static, steps) in ways(guard, ddp.known("static_graph"), ddp.known("accumulation")):
        if static == Const(True) and isinstance(steps, Const) and isinstance(steps.value, int) and steps.value > 1:
            args = ddp.known("args").objects() or ddp.attributes.get("args", ddp.known("args")).objects()
            place = args[0].sites.get("gradient_accumulation_steps") if args else None
            site = place or ddp.site
            if site is not None:
                yield _finding(run, ddp, held, site, f"{steps.value} steps are accumulated between synchronisations")
            return


def _finding(run: Run, ddp: Object, guard: Guard, place: Site, what: str) -> Finding:
    declared = _declared(ddp)
    return rule.finding(
        run,
        declared or place,
        f"DDP's graph is declared static, and {what}",
        guard=guard,
        symptom=SYMPTOM,
        related=[(place, "gradients are not synchronised in every step")] if declared else [],
        fixes=(without_static_graph(ddp),),
    )


def _declared(ddp: Object) -> Site | None:
    if "static_graph" in ddp.sites:
        return ddp.sites["static_graph"]
    args = ddp.attributes.get("args")
    for item in args.objects() if args is not None else []:
        if "ddp_static_graph" in item.sites:
            return item.sites["ddp_static_graph"]
    return None


def without_static_graph(ddp: Object) -> Fix | None:
    """Take the declaration back."""
    title = "Do not declare the graph static (use non-reentrant checkpointing if that was why)"
    args = ddp.attributes.get("args")
    for site, name in [
        (ddp.site, "static_graph"),
        *((item.site, "ddp_static_graph") for item in (args.objects() if args is not None else [])),
    ]:
        if site is not None and rewrite.argument(site, name) is not None:
            return Fix("no-static-graph", title, tuple(rewrite.remove_arguments(site, name)), "unsafe")
    return None
