"""# unused-parameters-under-ddp (GCL223)

## What it does
Finds layers of a DDP model that train and that no forward of the run uses, or only without gradients.

## Why it breaks
DDP waits in each backward for the gradient of every parameter that trains. Of a layer that takes no part in the loss it
never comes: the second step raises `RuntimeError: Expected to have finished reduction in the prior iteration`.

## Example
```python
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.pooler = nn.Linear(8, 8)

    def forward(self, x):
        return self.body(x)

model = DistributedDataParallel(Net())
```

## Use instead
Drop the layer, freeze it (`self.pooler.requires_grad_(False)`) or, at the cost of a walk of the graph in each step:
```python
model = DistributedDataParallel(Net(), find_unused_parameters=True)
```

## When it is fine
The layer is frozen before the model is wrapped; `find_unused_parameters=True` or `static_graph=True`; some forward uses
it, or its weight; one process. A layer that only some batches use is another case (GCL209 where it is checkpointed).

## Evidence
torch 2.13.0, two gloo ranks: raised in the forward of the second step, also for a layer that is called under `no_grad`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gclint.finding import Finding, Fix
from gclint.frameworks.module_trees import Named, modules_of, own_parameters
from gclint.rule import Reproduction, Rule
from gclint.run.closures import enclosing_function
from gclint.run.events import Backward, Forward, LibraryCall, ModuleCalled, Moment, RunEnded
from gclint.run.guards import Guard, all_of, compatible, complement, either, narrowed, satisfiable
from gclint.run.interpreter import Interpreter
from gclint.run.loops import CUT_SHORT
from gclint.run.parallel import BY_ACCELERATE, alone, forwards_of
from gclint.run.parts_of_guards import everything, is_exact
from gclint.run.run import OPTIONS, Run, ways
from gclint.run.shared_fixes import find_unused_on
from gclint.run.values import FALSE, Const, Object

from ..words import BACKWARD

WALKS = ("children", "modules", "named_children", "named_modules", "parameters", "named_parameters")

rule = Rule(
    code="GCL223",
    name="unused-parameters-under-ddp",
    docs=__doc__ or "",
    words=(("DistributedDataParallel", "Accelerator"), BACKWARD),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("missing",),
    reproduction=Reproduction(
        "bad_pooler.py",
        "bad_pooler.fixed.py",
        processes=2,
        raises="RuntimeError: Expected to have finished reduction",
    ),
)


class Unused(NamedTuple):
    """A part of a model that takes no part in the loss: whether it runs all the same, and the guard for that."""

    part: Named
    runs: bool
    guard: Guard


class Trained(NamedTuple):
    """A forward of a model under a DDP that waits for all of its parameters, and the guard under which it does."""

    forward: Forward
    ddp: Object
    guard: Guard


@rule.on(RunEnded)
def unused_layers(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a layer of a DDP model train without being used?"""
    if not event.whole or alone(run):
        return
    told: set[Object] = set()
    for trained in _trained(run):
        for unused in _unused(trained, run):
            if unused.part.item not in told and unused.part.item.site is not None:
                told.add(unused.part.item)
                yield _finding(unused, trained.ddp, run)


def _trained(run: Run) -> Iterator[Trained]:
    """The forwards whose gradients DDP averages step by step, one for each model."""
    seen: set[Object] = set()
    for backward in run.of_type(Backward):
        for forward in forwards_of(backward, run) if backward.moment.loops else ():
            for guard, (ddp, unused, static) in _wrappers(forward, backward.guard):
                if forward.model not in seen and unused == static == Const(False) and forward.call is not None:
                    seen.add(forward.model)
                    yield Trained(forward, ddp, guard)


def _wrappers(forward: Forward, guard: Guard) -> Iterator[tuple[Guard, tuple[Object, object, object]]]:
    """The DDP around a model, whether it looks for unused parameters, and whether its graph is static."""
    for held, (ddp,) in ways(guard, forward.model.known("ddp")):
        by_hand = isinstance(ddp, Object) and not ddp.label and forward.through is ddp
        if isinstance(ddp, Object) and (by_hand or ddp.label == BY_ACCELERATE):
            for both, (unused, static) in ways(
                held, ddp.known("find_unused") or FALSE, ddp.known("static_graph") or FALSE
            ):
                yield both, (ddp, unused, static)


def _unused(trained: Trained, run: Run) -> Iterator[Unused]:
    """The outermost parts of a model that train and that no forward uses, or only without gradients."""
    forward = trained.forward
    assert forward.call is not None
    it, found = forward.call.it, list[str]()
    tree = modules_of(it, forward.model) or []
    if any(each.name.endswith(WALKS) for each in run.of_type(LibraryCall) if each.moment.forwards):
        return
    left_out = run.facts.get(CUT_SHORT, {}).get(forward.model, {}).values()
    for part in tree[1:]:
        inside = [each for each in tree if each.name == part.name or each.name.startswith(f"{part.name}.")]
        if any(part.name.startswith(f"{outer}.") for outer in found) or not _trains(it, inside):
            continue
        calls = [each for each in run.of_type(ModuleCalled) if any(each.module is inner.item for inner in inside)]
        used = either(_recorded(moment) for moment in (*(each.moment for each in calls), *left_out))
        guard = all_of((trained.guard, part.guard, complement(used)))
        if (
            guard is not None
            and satisfiable(guard)
            and _is_of_the_run(guard - trained.guard, run)
            and not _is_read(part, run)
        ):
            found.append(part.name)
            yield Unused(part, any(compatible(each.guard, guard) for each in calls), guard)


def _recorded(moment: Moment) -> Guard:
    """The guard under which autograd records what happens at a moment: a block that may keep it from that was made
    under a guard of its own.
    """
    block = moment.unrecorded()
    return moment.guard if block is None else narrowed(moment.guard, complement(block.born - moment.guard))


def _trains(it: Interpreter, inside: list[Named]) -> bool:
    """Whether parts of a module have parameters, all of which train and which no code that nobody knows has seen."""
    own = [each for part in inside for each in own_parameters(it, part.item)]
    known = not any(part.item.escaped or part.item.each for part in inside)
    return known and bool(own) and all(each.item.state["trains"].constant() is True for each in own)


def _is_of_the_run(guard: Guard, run: Run) -> bool:
    """Whether conditions are decided once for a run, by its options, and not by each batch."""
    asked = [atom.of for atom, _ in everything(guard) if atom.parts is None]
    return is_exact(guard) and all(of and of[0] in run.facts.get(OPTIONS, ()) for of in asked)


def _is_read(part: Named, run: Run) -> bool:
    """Whether code takes a part of a model other than by calling it, which would have been seen, or by its name."""
    names = [name for name in part.name.split(".") if not name.isdigit()]
    name = names[-1] if names else ""
    for module in run.modules_with(name):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and node.value == name:
                return True
            if not isinstance(node, ast.Attribute) or node.attr != name or not isinstance(node.ctx, ast.Load):
                continue
            around, function = module.parents.get(node), enclosing_function(module, node)
            called = isinstance(around, ast.Call) and around.func is node
            if not called and getattr(function, "name", "") != "__init__":
                return True
    return False


def _finding(unused: Unused, ddp: Object, run: Run) -> Finding:
    part, guard = unused.part, unused.guard
    why = "runs without gradients only" if unused.runs else "no forward uses it"
    assert part.item.site is not None
    return rule.finding(
        run,
        part.item.site,
        f"`{part.name}` trains, and {why}: DDP waits for its gradients",
        guard=guard,
        symptom="RuntimeError: Expected to have finished reduction in the prior iteration",
        related=[(ddp.site, "the model is wrapped here")] if ddp.site is not None else [],
        fixes=(_look_for_unused(ddp),),
    )


def _look_for_unused(ddp: Object) -> Fix | None:
    edit = find_unused_on(ddp) if not ddp.label else None
    if edit is None:
        return None
    why = "DDP walks the graph in every iteration"
    return Fix("find-unused", "Let DDP look for unused parameters", (edit,), "unsafe", why)
