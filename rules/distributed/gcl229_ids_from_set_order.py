"""# ids-from-set-order (GCL229)

## What it does
Finds numbers of labels or tokens that come from the order of a set of texts, in a run of several processes, or one that
saves its model without them.

## Why it breaks
The order of a set of texts is another one in each process and each run: Python hashes texts with a key that it draws
at its start. Processes that train together give one label different numbers and average the gradients of different
tasks; a model that is loaded in a later run gets other numbers than those that it learnt. Nothing is raised.

## Example
```python
ids = {label: number for number, label in enumerate(set(labels))}
```

## Use instead
```python
ids = {label: number for number, label in enumerate(sorted(set(labels)))}
```

## When it is fine
`sorted()`, also later; `dict.fromkeys`, which keeps the order of the data; numbers that are saved with the model, or
sent to the other processes; a process that keeps no model; sets of numbers; PYTHONHASHSEED set where the processes
start.

## Evidence
CPython 3.11, torch 2.13.0: two runs over the labels of a tagger give O the numbers 0 and 4; two ranks of torchrun,
which starts an interpreter for each, number them differently. A launcher that sets PYTHONHASHSEED hides it: fragile.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, LibraryCall, RunEnded, TrainerStarted
from gclint.run.guards import DISTRIBUTED, Guard, all_of
from gclint.run.parallel import alone, forwards_of, of_several
from gclint.run.run import Run
from gclint.run.set_order import numbered
from gclint.run.stepping import reaches_a_step
from gclint.run.values import Object, Value

from ..words import TRAINS

CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")
KEEPS = ("save", "save_model", "save_pretrained", "push_to_hub", "save_checkpoint", "save_state")
LOOKS = ("len", "print", "range", "sorted", "enumerate", "zip", "set", "list", "items", "keys", "values", "get", "info")
"""What is asked of numbers or shown of them, and keeps none."""
PASSED_ON = "passed on"  # of the run's facts: what functions of libraries get
SEVERAL: Guard = frozenset({(DISTRIBUTED, True)})

rule = Rule(
    code="GCL229",
    name="ids-from-set-order",
    docs=__doc__ or "",
    words=(
        (" set(", "(set(", "=set(", "[set(", " frozenset(", "(frozenset("),
        ("enumerate", "zip", "len("),
        TRAINS,
    ),
    bears=("processes",),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_two_processes.py",
        "bad_two_processes.fixed.py",
        processes=2,
        raises="AssertionError: the processes number the words differently",
        intent=CHANGES,
        cold=True,
    ),
)


@rule.on(RunEnded)
def numbered_by_a_set(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Do labels or tokens get their numbers from the order of a set, where another process has other ones?"""
    if not event.whole or "PYTHONHASHSEED" in run.environment:
        return
    told: set[Object] = set()
    for site, held, numbers in numbered(run):
        harm = _among_processes(numbers, run) or _in_later_runs(numbers, held, run)
        if harm is None or held in told:
            continue
        told.add(held)
        guard, where, symptom = harm
        yield rule.finding(
            run,
            site,
            "these numbers come from the order of a set, which is another one in each process",
            guard=guard,
            certainty="fragile",
            symptom=f"silent: {symptom}",
            related=[where],
            fixes=(_sorted(site),),
        )


def _among_processes(numbers: Object, run: Run) -> tuple[Guard, tuple[Site, str], str] | None:
    """Where several processes train together, each with numbers of its own."""
    if alone(run) or _is_passed_on(numbers, run, ("broadcast", "scatter", "gather")):
        return None
    for backward in run.of_type(Backward):
        for forward in forwards_of(backward, run) if reaches_a_step(backward, run) else ():
            several = of_several(backward.guard, forward)
            held = all_of([several, numbers.born, SEVERAL]) if several is not None else None
            if held is not None:
                told = "one label has different numbers in different processes"
                return held, (backward.site, "several processes train on them"), told
    return None


def _in_later_runs(numbers: Object, held: Object, run: Run) -> tuple[Guard, tuple[Site, str], str] | None:
    """Where what is trained is saved, and neither the numbers nor what they come from."""
    trains = any(reaches_a_step(each, run) for each in run.of_type(Backward)) or run.of_type(TrainerStarted)
    saves = [each for each in run.of_type(LibraryCall) if each.name.rpartition(".")[2] in KEEPS]
    if not trains or not saves or _is_kept(numbers, run) or _is_kept(held, run):
        return None
    guard = all_of([saves[0].guard, numbers.born])
    told = "a run that loads the model gives the labels other numbers"
    return None if guard is None else (guard, (saves[0].site, "the model is saved without them"), told)


def _is_kept(item: Object, run: Run) -> bool:
    """Whether something may be kept: a function gets it that does more than look at it."""
    return _is_passed_on(item, run, ())


def _is_passed_on(item: Object, run: Run, names: tuple[str, ...]) -> bool:
    """Whether a library's function gets something, or what holds it: one of these names, or any that does more than
    look.
    """
    key = f"{PASSED_ON} {' '.join(names)}"
    found, events = run.facts.get(key, (set[Object](), -1))
    if events != len(run.events):
        found = _held(_given(run, names))
        run.facts[key] = found, len(run.events)
    return item in found


def _given(run: Run, names: tuple[str, ...]) -> Iterator[Value]:
    for each in run.of_type(LibraryCall):
        last = each.name.rpartition(".")[2]
        if each.call is not None and (any(name in last for name in names) if names else last not in LOOKS):
            yield from each.call.inputs()


def _held(values: Iterable[Value]) -> set[Object]:
    """All that values were computed from or hold, but for what is only counted, and the states of models."""
    found, waiting = set[Object](), [item for value in values for item in value.objects()]
    while waiting:
        item = waiting.pop()
        if item in found or item.type == "state_dict" or _is_count(item):
            continue
        found.add(item)
        inner = (*item.made_of, *(item.items or ()), *(item.entries or {}).values(), *item.attributes.values())
        waiting += [part for each in inner for part in each.objects()]
    return found


def _is_count(item: Object) -> bool:
    node = item.site.node if item.site is not None else None
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _sorted(site: Site) -> Fix | None:
    """Sort what is numbered."""
    given = rewrite.positional(site, 0)
    if given is None:
        return None
    edit = rewrite.replace(Site.at(site.module, given), f"sorted({site.module.code(given)})")
    return Fix("sorted", "Number them in their own order", (edit,), "unsafe", intent=CHANGES)
