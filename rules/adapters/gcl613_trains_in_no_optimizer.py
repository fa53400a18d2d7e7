"""# trains-in-no-optimizer (GCL613)

## What it does
Finds layers with fresh weights that a loss comes from and that no optimizer of the program holds: those of a loss
function that learns, or those that a list of a model's parts has forgotten.

## Why it breaks
Backward gives such a layer gradients, and no step uses them: it stays what it was drawn as. What goes through it is
a random projection, and the rest of the model has to make up for it. Nothing is raised.

## Example
```python
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
criterion = ProxyLoss(classes=100, size=512)        # proxies that are to be learnt
for x, y in loader:
    loss = criterion(net(x), y)
```

## Use instead
```python
criterion = ProxyLoss(classes=100, size=512)
optimizer = torch.optim.SGD([*net.parameters(), *criterion.parameters()], lr=0.1)
```

## When it is fine
Weights of a file or of another model are loaded into it, as for a fixed backbone; it is frozen, or in evaluation mode;
its numbers are taken without gradients; its parameters are changed by hand; not all is known of what the optimizers
hold.

## Evidence
torch 2.13.0: after ten steps of SGD the proxies of such a loss are what they were drawn as, and have gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gclint.finding import Finding
from gclint.frameworks.module_trees import own_parameters
from gclint.frameworks.torch_modules import trainable
from gclint.frameworks.torch_states import is_inside
from gclint.rule import Reproduction, Rule
from gclint.run.calls import Call
from gclint.run.events import (
    AttributeSet,
    Backward,
    ForwardPatched,
    LibraryCall,
    ModuleCalled,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
    StateDictLoaded,
    TrainableChanged,
)
from gclint.run.guards import ALWAYS, Guard, all_of, complement, satisfiable
from gclint.run.parallel import inside, owners, reaches, trained
from gclint.run.parts_of_guards import without_tacit
from gclint.run.run import Run
from gclint.run.values import NOTHING, Object, root

from ..words import LEARNS, STEP
from .held import held_by, known_optimizers

INITIAL = ("normal_", "uniform_", "zero_", "fill_", "requires_grad_")

rule = Rule(
    code="GCL613",
    name="trains-in-no-optimizer",
    docs=__doc__ or "",
    words=(LEARNS, (*STEP, "training_step"), ("parameters",), ("nn.", "from torch.nn", "import nn")),
    certainty=("fragile",),
    oracles=("changed",),
    reproduction=Reproduction(
        "bad_loss_that_learns.py",
        "good_loss_in_the_optimizer.py",
        raises="AssertionError: the proxies have not moved",
        intent=("trained", "updates"),
    ),
)


class _Part(NamedTuple):
    """A layer that is called, or a parameter of a module: what it is, in which module, and the guard for it."""

    item: Object
    module: Object
    guard: Guard


class _Left(NamedTuple):
    """A part that trains and is in no optimizer: the step that would have to be its own, and the guard for all that."""

    part: Object
    backward: Backward
    step: OptimizerStep
    guard: Guard


LISTS = ("torch.nn.ParameterList", "torch.nn.ParameterDict")


@rule.on(RunEnded)
def never_stepped(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a layer or a parameter take part in a loss that an optimizer steps by, and is in none?"""
    built = known_optimizers(run) if event.whole else []
    told: set[Object] = set()
    for left in _left_out(built, run) if built else ():
        if left.part in told or left.part.site is None:
            continue
        told.add(left.part)
        yield rule.finding(
            run,
            left.part.site,
            "the loss comes from this, which has fresh weights and is in no optimizer",
            guard=left.guard,
            certainty="fragile",
            symptom="silent: it gets gradients, and no step changes it",
            related=[(left.step.site, "the step of the others"), (left.backward.site, "the backward")],
        )


def _left_out(built: list[OptimizerBuilt], run: Run) -> Iterator[_Left]:
    """The outermost modules that train and are in no optimizer, for the first backward of each."""
    held = held_by(built)
    always = [owner for owner, guard in held if guard == ALWAYS]
    parts = [each for each in (*_layers(run), *_parameters(run)) if not any(_is_of(each, owner) for owner in always)]
    patched = {root(each.target) for each in run.of_type(ForwardPatched)} if parts else set[Object]()
    parts = [
        each for each in parts if root(each.module) not in patched
    ]  # adapters of the project's own may stand there
    others = list(_changes(run)) if parts else []
    seen: set[Object] = set()
    for backward in run.of_type(Backward) if parts else ():
        reached = {*trained(backward), *reaches(backward.loss)} - _evaluated(backward)
        steps = [each for each in run.of_type(OptimizerStep, start=run.place(backward)) if _trains_modules(each)]
        for part in parts:
            source = part.item if part.item is not part.module else root(part.module)
            if part.item in seen or source not in reached or not backward.moment.loops:
                continue
            seen.add(part.item)
            known = (without_tacit(guard) for other, guard in (*held, *others) if _is_of(part, other))
            base = (backward.guard, part.guard, *map(complement, known))
            for step in steps:
                guard = all_of((*base, step.guard, step.optimizer.born))
                if guard is not None and satisfiable(guard):
                    yield _Left(_outermost(part, [owner for owner, _ in held]), backward, step, guard)
                    break


def _evaluated(backward: Backward) -> set[Object]:
    """The models of a loss that were in evaluation mode: what is fixed mostly is."""
    forwards = [each for each in backward.forwards if each.known("training").constant() is False]
    return {model for each in forwards for model in each.attributes["of"].objects()}


def _trains_modules(step: OptimizerStep) -> bool:
    """Whether a step changes modules, and not only tensors by themselves, such as a picture."""
    return bool(owners(step.optimizer.attributes.get("params", NOTHING)))


def _layers(run: Run) -> Iterator[_Part]:
    """The layers that are called where autograd records it, and that have parameters which train."""
    for called in run.of_type(ModuleCalled):
        layer = inside(called.module)
        made = run.makers.get(layer)
        if called.call is None or layer.kind != "layer" or called.moment.unrecorded() is not None:
            continue
        if made is not None and made.moment.forwards:
            continue  # it is another one in each forward, which is told of by itself
        own = own_parameters(called.call.it, layer) if trainable(layer) == "all" and _is_known(layer) else ()
        if any(each.item.state["trains"].constant() is True for each in own):
            yield _Part(layer, layer, called.guard)


def _parameters(run: Run) -> Iterator[_Part]:
    """The parameters that modules of the project hold by themselves, and that train."""
    for each in run.of_type(AttributeSet):
        for item in each.value.objects() if each.target is not None else ():
            trains = item.type == "torch.nn.Parameter" and item.known("grad").constant() is True
            if each.target is not None and trains and not item.escaped and _is_known(each.target):
                yield _Part(item, each.target, each.guard)


def _is_known(module: Object | None) -> bool:
    """Whether a module, and what is around it, is one thing that nobody else may change."""
    return module is None or (not module.each and not module.escaped and _is_known(module.parent))


def _is_of(part: _Part, other: Object) -> bool:
    """Whether a part is something, in it, or a layer that has it in itself; or may be, where nobody knows which part of
    a module the other one is.
    """
    whole = other.parent if other.kind == "part" else None
    return (
        other is part.item
        or (whole is not None and is_inside(part.module, whole))
        or is_inside(part.module, other)
        or (part.item is part.module and is_inside(other, part.module))
    )


def _changes(run: Run) -> Iterator[tuple[Object, Guard]]:
    """What gets its weights, or a change of them, by something else than torch's optimizers, each with the guard: a
    load, freezing, a method of a parameter that writes, a library that is given parameters as its own optimizer is.
    """
    for loaded in run.of_type(StateDictLoaded):
        yield from ((inside(each), loaded.guard) for each in loaded.target.objects())
    for changed in run.of_type(TrainableChanged):
        yield inside(changed.module), changed.guard
    for each in run.of_type(LibraryCall):
        if each.call is not None:
            yield from ((item, each.guard) for item in (*_written(each.call), *_given(each.call)))


def _written(call: Call) -> Iterator[Object]:
    """The parameter that a method changes, also by its data, other than to begin with; or the module that has it."""
    item = call.receiver
    if item is not None and call.last.endswith("_") and call.last not in INITIAL:
        while item.parent is not None and item.kind != "parameter":
            item = item.parent
        if item.kind == "parameter" and item.parent is not None:
            yield item.parent
        elif item.type == "torch.nn.Parameter":
            yield item


def _given(call: Call) -> Iterator[Object]:
    """The modules whose parameters a library other than torch is given, or a list of parameters, which is a module."""
    if not call.name.startswith(("torch.", "builtins.")) or call.name in LISTS:
        for value in (*call.positional, *call.keywords.values()):
            yield from map(inside, owners(value))


def _outermost(part: _Part, held: list[Object]) -> Object:
    """The largest module around a part of which an optimizer holds nothing."""
    found, outer = part.item, part.module
    while not any(is_inside(owner, outer) for owner in held):
        found = outer
        if outer.parent is None or outer.parent.kind not in ("module", "modules", "layer"):
            break
        outer = outer.parent
    return found
