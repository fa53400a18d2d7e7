"""# unfrozen-in-no-optimizer (GCL612)

## What it does
Finds parts of a model that are unfrozen after the optimizer was built from others of its parameters, and that no
optimizer is ever given.

## Why it breaks
An optimizer steps on the parameters that it was given. A part that was left out because it was frozen then gets
gradients once it is unfrozen, and backward takes the longer time and the memory for them; no step uses them. Nothing is
raised: the second phase of the training goes on with the head alone.

## Example
```python
net.body.requires_grad_(False)
optimizer = torch.optim.AdamW(net.head.parameters())
train(net, optimizer, epochs=2)
net.body.requires_grad_(True)
train(net, optimizer, epochs=8)
```

## Use instead
```python
net.body.requires_grad_(True)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5)
train(net, optimizer, epochs=8)
```

## When it is fine
The optimizer holds all of the model from the beginning and passes over what has no gradient; the part is given to it by
`add_param_group`, or to another optimizer; the part is unfrozen for its gradients alone, such as those of an image that
is looked at, and no step follows.

## Evidence
torch 2.13.0: after two phases of SGD the unfrozen layer has gradients and is what it was made as.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding
from gclint.frameworks.torch_states import is_inside
from gclint.rule import Reproduction, Rule
from gclint.run.events import Backward, OptimizerBuilt, OptimizerStep, RunEnded, TrainableChanged
from gclint.run.guards import Guard, all_of, satisfiable
from gclint.run.parallel import inside, models_of, since, trained
from gclint.run.run import Run
from gclint.run.values import Object, root

from ..words import STEPS
from .held import held_by, known_optimizers

rule = Rule(
    code="GCL612",
    name="unfrozen-in-no-optimizer",
    docs=__doc__ or "",
    words=(("requires_grad",), STEPS, ("parameters",)),
    certainty=("fragile",),
    oracles=("changed",),
    reproduction=Reproduction(
        "bad_second_phase.py",
        "good_new_optimizer.py",
        raises="AssertionError: the body has not moved",
        intent=("trained", "updates"),
    ),
)


@rule.on(RunEnded)
def never_stepped(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a part unfrozen after its model's optimizers were built, and in none of them?"""
    built = known_optimizers(run) if event.whole else []
    held = [module for module, _ in held_by(built)]
    told: set[Object] = set()
    for change in run.of_type(TrainableChanged) if built else ():
        part = inside(change.module)
        if change.after != "all" or change.before == "all" or part in told or _is_held(part, held):
            continue
        step = _step_after(change, built, run)
        if step is not None:
            told.add(part)
            yield rule.finding(
                run,
                change.site,
                "this is unfrozen after the optimizer was built from other parameters, and in no optimizer",
                guard=step[1],
                certainty="fragile",
                symptom="silent: it gets gradients, and no step changes it",
                related=[(step[0].site, "the optimizer is built here")],
            )


def _is_held(part: Object, held: list[Object]) -> bool:
    """Whether an optimizer holds a part, a module around it, or something in it."""
    return any(is_inside(part, each) or is_inside(each, part) for each in held)


def _step_after(change: TrainableChanged, built: list[OptimizerBuilt], run: Run) -> tuple[OptimizerBuilt, Guard] | None:
    """The optimizer of the same model, built before, that steps after a backward through the model that follows the
    change, and the guard for all of these.
    """
    model = root(inside(change.module))
    for each in built:
        if run.place(each) > run.place(change) or model not in models_of(each.parameters):
            continue
        for backward in since(run, change, Backward):
            if model not in trained(backward):
                continue
            for step in since(run, backward, OptimizerStep):
                assert isinstance(step, OptimizerStep)
                guard = all_of((each.guard, change.guard, backward.guard, step.guard))
                if step.optimizer is each.optimizer and guard is not None and satisfiable(guard):
                    return each, guard
    return None
