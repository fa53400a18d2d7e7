"""# optimizer-of-frozen-parameters (GCL812)

## What it does
Finds optimizers, and groups of an optimizer, whose parameters are all frozen while other parts of the model train.

## Why it breaks
A frozen parameter gets no gradient, and an optimizer passes over what has none. Its steps change nothing; what does
get gradients is in no optimizer. Nothing is raised.

## Example
```python
optimizer = torch.optim.Adam(net.head.parameters())
net.head.requires_grad_(False)
```

## Use instead
```python
optimizer = torch.optim.Adam(net.head.parameters())
net.body.requires_grad_(False)
```

## When it is fine
Some of the parameters train; they are unfrozen later, as in gradual unfreezing; a group that another one goes beside is
frozen on purpose, with nothing else left to train.

## Evidence
torch 2.13.0: an Adam of a frozen head moves nothing in five steps; the gradients are those of the body.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding
from gclint.frameworks.torch_modules import trainable
from gclint.rule import Reproduction, Rule
from gclint.run.events import OptimizerBuilt, OptimizerStep, RunEnded, TrainableChanged
from gclint.run.parallel import owners
from gclint.run.run import Run
from gclint.run.values import Const, Object, Value, root

from ..words import STEP

rule = Rule(
    code="GCL812",
    name="optimizer-of-frozen-parameters",
    docs=__doc__ or "",
    words=(("requires_grad",), STEP, ("parameters",)),
    certainty=("fails",),
    oracles=("changed",),
    reproduction=Reproduction("bad_head.py", "good_body_is_frozen.py", intent=("trained", "updates", "lost")),
)


@rule.on(RunEnded)
def of_frozen(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is all that an optimizer or one of its groups holds frozen, and stays so?"""
    if not event.whole:
        return
    steps = run.of_type(OptimizerStep)
    for built in run.of_type(OptimizerBuilt):
        step = next((each for each in steps if each.optimizer is built.optimizer), None)
        if step is None:
            continue
        for group in _groups(built.parameters):
            held = owners(group)
            if not held or not all(_is_frozen(owner, group) for owner in held):
                continue
            if any(trainable(root(owner)) == "none" or _thaws(owner, built, run) for owner in held):
                continue
            whole = group is built.parameters
            yield rule.finding(
                run,
                built.site,
                f"all parameters of this optimizer{'' if whole else ' in one of its groups'} are frozen",
                guard=built.guard,
                symptom="silent: its steps change nothing",
                related=[(step.site, "it steps here")],
            )
            break


def _groups(parameters: Value) -> list[Value]:
    """The parameter groups of an optimizer, or all that it holds."""
    held = parameters.only()
    groups = [item for value in (held.items or [] if isinstance(held, Object) else []) for item in value.objects()]
    named = [item.entries["params"] for item in groups if item.entries and "params" in item.entries]
    return named if groups and len(named) == len(groups) else [parameters]


def _is_frozen(owner: Object, group: Value) -> bool:
    """Whether what a group holds of a module does not train."""
    known = [part for item in group.objects() for value in item.items or [] for part in value.objects()]
    own = [part for part in known if part.kind == "parameter" and part.parent is owner and "trains" in part.state]
    if own:
        return all(part.state["trains"].only() == Const(False) for part in own)
    return trainable(owner) == "none"


def _thaws(owner: Object, built: OptimizerBuilt, run: Run) -> bool:
    """Whether something of a module is unfrozen after the optimizer took it."""
    changes = run.of_type(TrainableChanged, start=run.place(built))
    return any(each.after != "none" and root(each.module) is root(owner) for each in changes)
