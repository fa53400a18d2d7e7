"""# best-state-aliased (GCL313)

## What it does
Finds state dicts of a model that are kept without a copy while training goes on, and then loaded back.

## Why it breaks
`state_dict()` gives the model's own tensors, not copies. Each further step changes what was kept along with the model,
so that loading it puts back the weights of the last step: the best ones are lost, and nothing is raised.

## Example
```python
for epoch in range(epochs):
    train_epoch(model, loader)
    if (loss := evaluate(model)) < best:
        best, best_state = loss, model.state_dict()
model.load_state_dict(best_state)
```

## Use instead
```python
        best, best_state = loss, copy.deepcopy(model.state_dict())
```

## When it is fine
A copy (`deepcopy`, `clone` of each tensor); a state dict that is written to a file, and read from it; a loop that ends
with the round that kept it; a state dict that goes into another model.

## Evidence
torch 2.13.0, torch/nn/modules/module.py, `_save_to_state_dict`: `destination[prefix + name] = param if keep_vars else
param.detach()`, which shares its storage; after two more steps the kept weights equal the last ones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import LOOPS, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import contains, leaves_after
from gclint.run.events import Backward, Event, StateDictLoaded, StateDictSaved, TrainerStarted
from gclint.run.guards import conj
from gclint.run.parallel import inside, trained
from gclint.run.run import Run
from gclint.run.stepping import reaches_a_step
from gclint.run.values import Object, root

from ..words import TRAINS

CHANGES: tuple[Aspect, ...] = ("loaded", "loss", "gradients", "updates", "buffers", "saved")
GATHERED = "fsdp"  # what FSDP1 gives is put together from the shards of all processes

rule = Rule(
    code="GCL313",
    name="best-state-aliased",
    docs=__doc__ or "",
    words=((".state_dict",), ("load_state_dict",), TRAINS),
    certainty=("fails",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_best_epoch.py",
        "bad_best_epoch.fixed.py",
        raises="AssertionError: the best weights are not restored",
        intent=CHANGES,
    ),
)


@rule.on(StateDictLoaded)
def loaded_as_it_is_now(event: StateDictLoaded, run: Run) -> Iterator[Finding]:
    """Does a state dict go back into the model that has changed it since?"""
    into = {root(inside(item)) for item in event.target.objects() if item.kind != GATHERED}
    for guard, item in event.source:
        saved = next((each for each in run.of_type(StateDictSaved) if each.made is item), None)
        models = (
            [] if saved is None else [root(inside(each)) for each in saved.target.objects() if each.kind != GATHERED]
        )
        if saved is None or len(models) != 1 or models[0] not in into:
            continue
        loaded = conj(guard, event.guard)
        both = None if loaded is None else conj(loaded, saved.guard)
        trains = next((each for each in _training(models[0], run) if _goes_on(saved, each, event, run)), None)
        if both is None or trains is None:
            continue
        yield rule.finding(
            run,
            saved.site,
            "this state dict is no copy: training changes it, and loading it back restores nothing",
            guard=both,
            symptom="silent: the weights of the last step stay",
            related=[(trains.site, "training goes on here"), (event.site, "it is loaded back here")],
            fixes=(_copied(saved.site),),
        )


def _training(model: Object, run: Run) -> Iterator[Event]:
    """What trains a model: backward passes that an optimizer follows, and trainers."""
    for each in run.of_type(Backward, TrainerStarted):
        of_it = model in {root(inside(item)) for item in trained(each)}
        if of_it and (not isinstance(each, Backward) or reaches_a_step(each, run)):
            yield each


def _goes_on(saved: Event, trains: Event, loaded: Event, run: Run) -> bool:
    """Whether training comes between keeping and loading: after it, or in a next round of a loop around both."""
    if conj(saved.guard, trains.guard) is None:
        return False
    if run.place(saved) < run.place(trains) < run.place(loaded):
        return True
    return any(
        isinstance(loop.node, LOOPS) and loop in trains.moment.loops and not _ends(saved, loop.node)
        for loop in saved.moment.loops
        if loop not in loaded.moment.loops
    )


def _ends(event: Event, loop: ast.AST) -> bool:
    """Whether a loop ends after the round in which something is done."""
    chain = [*event.moment.stack, event.site]
    at = next((site for site in chain if contains(loop, site.node, site.module)), None)
    return at is None or leaves_after(at.module, at.node, loop)


def _copied(site: Site) -> Fix | None:
    """Keep a deep copy."""
    node, module = rewrite.call_node(site), site.module
    if node is None:
        return None
    edit = rewrite.replace(Site.at(module, node), f"copy.deepcopy({module.code(node)})")
    return Fix("copy", "Keep a copy", (*rewrite.ensure_import(module, "import copy"), edit), "unsafe", intent=CHANGES)
