"""# ddp-parameters-changed-after-wrap (GCL205)

## What it does
Finds parameters that are frozen, unfrozen, added or replaced after the model was wrapped in
DistributedDataParallel.

## Why it breaks
DDP takes the list of trainable parameters when it wraps. What starts to train later is never averaged over
processes: the copies drift apart without an error. What is frozen or replaced later leaves DDP waiting for its
gradient: `RuntimeError: Expected to have finished reduction in the prior iteration`.

## Example
```python
model = DistributedDataParallel(net)
for p in net.encoder.parameters():
    p.requires_grad = True
```

## Use instead
```python
for p in net.encoder.parameters():
    p.requires_grad = True
model = DistributedDataParallel(net)
```

## When it is fine
Changes before the wrap; parts that are frozen for one step and unfrozen again, as adversarial training does; parameters
that are frozen later under `find_unused_parameters=True`; a model that is frozen as a whole, as a teacher is; one
process.

## Evidence
torch 2.13.0, two gloo ranks: unfrozen and added parameters have different gradients on each rank; frozen and
replaced ones raise in the second iteration, frozen ones not with find_unused_parameters: gradients are equal then.
A teacher that is wrapped, then frozen as a whole, runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.layout import held_by, on_its_own
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import Adapted, AttributeSet, Backward, Event, RunEnded, TrainableChanged, Wrapped
from gclint.run.guards import conj
from gclint.run.parallel import alone, inside, since, trained
from gclint.run.run import Run
from gclint.run.values import Object, root

SYMPTOM = (
    "silent: what is added or unfrozen is not averaged over processes; what is frozen or replaced: "
    "RuntimeError: Expected to have finished reduction in the prior iteration"
)

rule = Rule(
    code="GCL205",
    name="ddp-parameters-changed-after-wrap",
    docs=__doc__ or "",
    words=(
        ("DistributedDataParallel",),
        ("requires_grad", "requires_grad_", "get_peft_model", "add_adapter", "Linear", "Module"),
    ),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("gradients", "ranks", "missing", "changed"),
    reproduction=Reproduction("bad_unfrozen.py", "bad_unfrozen.fixed.py", processes=2),
)


@rule.on(RunEnded)
def changed_later(event: RunEnded, run: Run) -> Iterator[Finding]:
    """After the wrap, does another set of parameters train than before it?"""
    if alone(run):
        return
    for wrap in run.of_type(Wrapped):
        if wrap.wrapper.kind != "ddp" or wrap.wrapper.label or wrap.wrapper.site is None:
            continue
        model = root(inside(wrap.model))
        later = since(run, wrap, TrainableChanged, Adapted, AttributeSet, Backward)
        steps = [at for at, item in enumerate(later) if isinstance(item, Backward) and model in trained(item)]
        changes = [item for item in later[: steps[-1] if steps else 0] if _what(item, model)]
        missed = [item for item in changes if not _left_out(item, wrap)]
        if missed and not _given_back(changes) and not _is_let_go(changes[-1], model):
            yield from _finding(run, wrap, missed[-1], model)


def _what(event: Event, model: Object) -> str:
    if isinstance(event, Adapted):
        return "adapters are added" if root(inside(event.model)) is model else ""
    if isinstance(event, TrainableChanged):
        if event.before == event.after or root(inside(event.module)) is not model:
            return ""
        return "parameters are frozen" if _freezes(event) else "parameters are unfrozen"
    if isinstance(event, AttributeSet) and event.target is not None:
        layer = any(item.kind in ("layer", "modules") for item in event.value.objects())
        built = any(item is event.target for item in event.moment.forwards) or event.target.kind == "ddp"
        if layer and not built and event.name != "forward" and root(inside(event.target)) is model:
            return "a layer is put in"
    return ""


def _freezes(change: Event) -> bool:
    return isinstance(change, TrainableChanged) and (change.after == "none" or change.before == "all")


def _is_let_go(change: Event, model: Object) -> bool:
    """Whether nothing of the model trains any more, as in a teacher: then DDP waits for no gradient."""
    return isinstance(change, TrainableChanged) and inside(change.module) is model and change.after == "none"


def _left_out(change: Event, wrap: Wrapped) -> bool:
    """Whether DDP leaves out parameters that are frozen later: it looks in each forward for those that get nothing."""
    return _freezes(change) and wrap.wrapper.known("find_unused").constant() is True


def _given_back(changes: list[Event]) -> bool:
    """Whether the same part is frozen and unfrozen in turn: by two places to which one round may come."""
    told = [item for item in changes if isinstance(item, TrainableChanged)]
    return any(
        (*one.moment.stack, one.site) != (*other.moment.stack, other.site) and conj(one.guard, other.guard) is not None
        for one in told
        if _freezes(one)
        for other in told
        if not _freezes(other)
    )


def _finding(run: Run, wrap: Wrapped, change: Event, model: Object) -> Iterator[Finding]:
    both = conj(wrap.guard, change.guard)
    if both is None or wrap.wrapper.site is None:
        return
    yield rule.finding(
        run,
        change.site,
        f"{_what(change, model)} after DDP took its list of trainable parameters",
        guard=both,
        symptom=SYMPTOM,
        related=[(wrap.wrapper.site, "the model is wrapped here")],
        fixes=(_wrap_after(wrap.site, change.site),),
    )


def _wrap_after(wrap: Site, change: Site) -> Fix | None:
    """Move the wrapping statement below the change, where both stand in one block."""
    module = wrap.module
    line = on_its_own(module, wrap.node)
    if module is not change.module or line is None:
        return None
    if enclosing_function(module, wrap.node) is not enclosing_function(module, change.node):
        return None
    last = held_by(module.block(line), change)
    edits = rewrite.move_after(module, line, last) if last is not None else []
    name = module.code(line).partition("=")[0].strip()
    if last is None or not edits or f"{name}.module" in module.code(last):
        return None
    return Fix("wrap-last", "Wrap the model after the change", tuple(edits), "unsafe")
