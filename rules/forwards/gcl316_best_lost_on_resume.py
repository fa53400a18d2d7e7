"""# best-lost-on-resume (GCL316)

## What it does
Finds trainings that go on from a file of their own while the best number so far, which decides what is kept as the
best checkpoint, begins anew.

## Why it breaks
The first evaluation after a resume is better than nothing, whatever it is: it overwrites the best checkpoint, and the
weights that the run before had found are lost. Nothing is raised.

## Example
```python
best = 0.0
saved = torch.load("last.pt")
model.load_state_dict(saved["model"])
for epoch in range(saved["epoch"], epochs):
    train(model)
    if (accuracy := evaluate(model)) > best:
        best = accuracy
        torch.save(model.state_dict(), "best.pt")
```

## Use instead
```python
best = saved["best"]
```

## When it is fine
A best that is kept in the file and read from it, or measured again; a comparison that only prints; a name of its own
for each file, by epoch, number or time; training anew from saved weights, with an optimizer that begins anew as well,
whatever else is read of the file and then not used;
files of another program.

## Evidence
torch 2.13.0: of three epochs of SGD the first one gives the lowest loss. At once the best file holds that, interrupted
after two epochs it holds the third's, which is higher.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import OptimizerStep, RunEnded, StateFilled
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.values import Object

from ..words import BACKWARD
from .best_so_far import Best, begins, bests, lets_save
from .resumed import TRAINING, file_of, goes_on_under, own_saves, same, saved_alike

rule = Rule(
    code="GCL316",
    name="best-lost-on-resume",
    docs=__doc__ or "",
    words=(("load_state_dict", ".copy_("), ("save",), BACKWARD),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_interrupted.py",
        "bad_interrupted.fixed.py",
        raises="AssertionError: the best weights are overwritten",
        intent=("saved", "loaded"),
    ),
)


@rule.on(RunEnded)
def begins_anew(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does training go on from a file, while the best number so far begins anew?"""
    resumed = list(_resumes(run)) if event.whole else []
    told = set[Site]()
    for best in bests(run) if resumed else ():
        for load, file, guard in resumed:
            held = together(guard, best.compared.guard)
            if best.begins in told or held is None or run.place(load) > run.place(best.compared):
                continue
            save = next(lets_save(best, file, run), None) if begins(best.value.possible(held)) else None
            if save is None or together(guard, save.guard) is None:
                continue
            told.add(best.begins)
            yield rule.finding(
                run,
                best.begins,
                "training goes on from a file, and the best so far begins anew",
                guard=guard,
                certainty="fragile",
                symptom="silent: the first evaluation after a resume overwrites the best checkpoint",
                related=[(load.site, "training goes on from here"), (save.site, "the best is written here")],
                fixes=(_restored(best, load, file, run),),
            )


def _resumes(run: Run) -> Iterator[tuple[StateFilled, Object, Guard]]:
    """The loads from files of the program's own with which training goes on, each with the guard of that: a loop counts
    on from a number in the file, or, where none does, what trains goes on with a state of its own.
    """
    own = [
        (load, file, goes_on_under(file, run, in_loops=True))
        for load in run.of_type(StateFilled)
        for file in filter(None, map(file_of, load.source.objects()))
        if own_saves(load, file, run) or saved_alike(file, run)
    ]
    counts = any(counted is not None for _, _, counted in own)
    for load, file, counted in own:
        if not counts and any(_trains_on(each, run) for each in load.target.objects()):
            yield load, file, load.guard
        guard = together(load.guard, counted) if counted is not None else None
        if guard is not None:
            yield load, file, guard


def _trains_on(item: Object, run: Run) -> bool:
    """Whether what got a state of a file trains with it: an optimizer that makes steps, or what goes with one."""
    steps = item.kind != "optimizer" or any(same(each.optimizer, item) for each in run.of_type(OptimizerStep))
    return item.kind in TRAINING and steps


def _restored(best: Best, load: StateFilled, file: Object, run: Run) -> Fix | None:
    """Read the best where the model is loaded, if it is saved and at hand."""
    module, node = load.site.module, load.site.node
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    here = best.begins.module is module and enclosing_function(module, best.begins.node)
    if not isinstance(given, ast.Subscript) or here is not enclosing_function(module, node):
        return None
    written = [
        key.value
        for each in nodes(module.tree)
        if isinstance(each, ast.Dict)
        for key, value in zip(each.keys, each.values, strict=True)
        if isinstance(key, ast.Constant) and module.code(value) == best.text
    ]
    saved = [entries for _, entries in own_saves(load, file, run)] or saved_alike(file, run)
    keys = [key for key in written if all(f"[{key!r}]" in entries for entries in saved)]
    if not keys or module.span(best.begins.node).line > module.span(node).line:
        return None
    text = f"{best.text} = {module.code(given.value)}[{keys[0]!r}]".replace("'", '"')
    edit = rewrite.insert_after(load.site, text)
    return Fix("read", "Read the best so far", (edit,), "unsafe", intent=("saved", "loaded")) if edit else None
