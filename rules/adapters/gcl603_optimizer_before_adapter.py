"""# optimizer-before-adapter (GCL603)

## What it does
Finds optimizers built from a model's parameters before that model gets adapters, new layers, or new tensors.

## Why it breaks
The optimizer keeps the parameters it was given. `get_peft_model` freezes those and adds others that it has never
heard of: backward and step run, and nothing changes. A layer that is replaced later, `to_empty()` and
`load_state_dict(assign=True)` leave it with tensors that are in no model any more.

## Example
```python
optimizer = torch.optim.AdamW(model.parameters())
model = get_peft_model(model, lora)
```

## Use instead
```python
model = get_peft_model(model, lora)
optimizer = torch.optim.AdamW(model.parameters())
```

## When it is fine
The optimizer is built again afterwards; resized token embeddings keep their parameter.

## Evidence
torch 2.13.0, peft 0.21: 0 of 16 adapter tensors change. Replaced layers, `to_empty()` and `assign=True` likewise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gclint.finding import Finding, Fix
from gclint.frameworks.torch_modules import PARAMETRIC
from gclint.ir.layout import on_its_own
from gclint.ir.syntax import COMPOUND, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import (
    Adapted,
    AttributeSet,
    Converted,
    Event,
    LibraryCall,
    OptimizerBuilt,
    OptimizerStep,
    TrainerStarted,
)
from gclint.run.guards import all_of, conj
from gclint.run.parallel import inside, models_of
from gclint.run.run import Run
from gclint.run.values import NOTHING, Object, root

from ..words import STEPS

SYMPTOM = "silent: the parameters that train are not the optimizer's; none of them changes"

rule = Rule(
    code="GCL603",
    name="optimizer-before-adapter",
    docs=__doc__ or "",
    words=(STEPS, ("get_peft_model", "add_adapter", "Linear", "to_empty", "assign"), ("parameters",)),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("changed",),
    reproduction=Reproduction("bad_lora.py", "bad_lora.fixed.py", intent=("updates",)),
)


class _Change(NamedTuple):
    """A model gets other parameters: by which event, and in words what it gets."""

    event: Event
    model: Object
    what: str


@rule.on(OptimizerStep, TrainerStarted)
def steps_on_old_parameters(event: OptimizerStep | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Did the model get other parameters after this optimizer took its own?"""
    if isinstance(event, OptimizerStep):
        optimizers = [event.optimizer]
    else:
        given = event.trainer.attributes.get("optimizers", NOTHING).objects()
        optimizers = [item for held in given for value in held.items or [] for item in value.objects()]
    for built in run.of_type(OptimizerBuilt):
        if built.optimizer not in optimizers or built.optimizer.site is None:
            continue
        for model in models_of(built.parameters):
            changes = _changes(run, built, model)
            change = next(
                (each for each in changes if all_of([each.event.guard, built.guard, event.guard]) is not None), None
            )
            if change is not None:
                yield _finding(run, built, change, event)
                return


def _changes(run: Run, built: OptimizerBuilt, model: Object) -> list[_Change]:
    """What gave a model other parameters after an optimizer took its own, up to now."""
    taken = run.place(built)
    return [each for each in _all_changes(run) if each.model is model and run.place(each.event) > taken]


def _all_changes(run: Run) -> list[_Change]:
    """What gave some model other parameters, up to now."""
    known: list[_Change] = run.facts.setdefault(rule.code, [])
    for event in run.new_to(rule.code, Adapted, AttributeSet, Converted, LibraryCall):
        target, what = _change(event)
        if target is not None:
            known.append(_Change(event, root(inside(target)), what))
    return known


def _change(event: Event) -> tuple[Object | None, str]:
    """What an event gives other parameters, and how; nothing when it does not."""
    if isinstance(event, Adapted):
        return event.model, "adapters"
    call = event.call if isinstance(event, Converted | LibraryCall) else None
    if isinstance(event, Converted) and call is not None and call.last == "to_empty":
        return event.module, "new tensors"
    if isinstance(event, LibraryCall) and call is not None and call.last == "load_state_dict":
        return call.receiver if call.get("assign", 2).constant() is True else None, "new tensors"
    if isinstance(event, AttributeSet) and event.target is not None and event.target.kind != "instance":
        layer = any(_learns(item) for item in event.value.objects())
        building = event.target in event.moment.forwards or event.name == "forward"
        return event.target if layer and not building else None, "a new layer"
    return None, ""


def _learns(item: Object) -> bool:
    """Whether a layer, or a list of layers, brings parameters of its own."""
    return item.kind == "modules" or (item.kind == "layer" and item.class_name in PARAMETRIC)


def _finding(run: Run, built: OptimizerBuilt, given: _Change, used: Event) -> Finding:
    change = given.event
    guard = conj(built.guard, change.guard)
    return rule.finding(
        run,
        built.site,
        f"the optimizer takes the model's parameters before it gets {given.what}",
        guard=guard if guard is not None else built.guard,
        symptom=SYMPTOM,
        versions=("torch", "peft"),
        related=[(change.site, "the model changes here"), (used.site, "the optimizer is used here")],
        fixes=(_later(built.site, change.site),),
    )


def _later(built: Site, change: Site) -> Fix | None:
    """Build the optimizer after the change, where both stand in one block."""
    module = built.module
    line, last = on_its_own(module, built.node), module.statement(change.node)
    if module is not change.module or line is None or isinstance(line, COMPOUND) or last is None:
        return None
    if enclosing_function(module, built.node) is not enclosing_function(module, change.node):
        return None
    edits = rewrite.move_after(module, line, last)
    return (
        Fix("build-later", "Build the optimizer after the change", tuple(edits), "unsafe", intent=("updates",))
        if edits
        else None
    )
