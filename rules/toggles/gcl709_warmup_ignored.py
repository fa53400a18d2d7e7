"""# warmup-ignored (GCL709)

## What it does
Finds warmup steps that are given to a schedule of transformers or diffusers that has no warmup, such as "constant".

## Why it breaks
`get_scheduler` passes the number of warmup steps on to the schedules that warm up, and drops it for the others; Trainer
makes its schedule so. The first step has the whole learning rate. Nothing is raised or said.

## Example
```python
TrainingArguments("out", lr_scheduler_type="constant", warmup_steps=100)
```

## Use instead
```python
TrainingArguments("out", lr_scheduler_type="constant_with_warmup", warmup_steps=100)
```

## When it is fine
No warmup, or 0; schedules that warm up; a warmup of one's own.

## Evidence
transformers 5.23: with `lr_scheduler_type="constant"` and six of eight steps of warmup every step has the full learning
rate, with "constant_with_warmup" the first has none. transformers/optimization.py, `get_scheduler`; diffusers/
optimization.py has the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.torch_schedules import NAMED, WITHOUT_WARMUP
from gclint.frameworks.trl import CONFIGS
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import RunEnded
from gclint.run.guards import Guard
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Alternative, Const, External, Object, Value

WARMED = "constant_with_warmup"
ENUM = "SchedulerType."
TRAINERS = ("warmup_steps", "warmup_ratio")
POSITIVE = (ast.Mult, ast.Add)

rule = Rule(
    code="GCL709",
    name="warmup-ignored",
    docs=__doc__ or "",
    words=((NAMED, "TrainingArguments", *CONFIGS), ("transformers", "diffusers", "trl")),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_arguments.py",
        "bad_arguments.fixed.py",
        raises="AssertionError: the first step has the whole learning rate",
        intent=("updates", "loss"),
    ),
)


@rule.on(RunEnded)
def given_to_none(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a schedule that has no warmup given one?"""
    for item in run.heap:
        held = item.attributes
        if item.kind == "training_args":
            asked = {name: held[name] for name in TRAINERS if name in held}
            yield from _ignored(item, held.get("lr_scheduler_type", NOTHING), asked, run)
        elif item.kind == "schedule" and str(item.type).endswith(f".{NAMED}"):
            asked = {"num_warmup_steps": held.get("num_warmup_steps", NOTHING)}
            yield from _ignored(item, held.get("name", NOTHING), asked, run)


def _ignored(item: Object, name: Value, asked: dict[str, Value], run: Run) -> Iterator[Finding]:
    for argument, value in asked.items():
        for guard, (kind,) in ways(item.born, name):
            warmup = next(_positive(value, guard), None) if _name_of(kind) in WITHOUT_WARMUP else None
            place = item.sites.get(argument, item.site)
            if warmup is not None and place is not None:
                yield rule.finding(
                    run,
                    place,
                    f'the schedule "{_name_of(kind)}" has no warmup: `{argument}` does nothing',
                    guard=warmup,
                    certainty="fragile",
                    symptom="silent: the first step has the whole learning rate",
                    versions=("transformers", "diffusers"),
                    fixes=(_warmed(item, _name_of(kind)),),
                )
                return


def _name_of(kind: Alternative) -> str:
    """The name of a schedule, as text or as a member of the enumeration."""
    if isinstance(kind, External) and ENUM in kind.name:
        return kind.name.rpartition(".")[2].lower()
    return str(kind.value) if isinstance(kind, Const) else ""


def _positive(steps: Value, base: Guard, depth: int = 4) -> Iterator[Guard]:
    """The conditions under which a number is above 0: a literal, or computed of such and the number of processes."""
    for guard, (item,) in ways(base, steps):
        if isinstance(item, Const):
            above = isinstance(item.value, (int, float)) and item.value > 0
        else:
            above = isinstance(item, Object) and item.kind == "world_size"
        if above:
            yield guard
        node = item.site.node if isinstance(item, Object) and item.site is not None else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, POSITIVE) and isinstance(item, Object) and depth:
            left, *others = item.made_of
            for held in _positive(left, guard, depth - 1):
                yield from _positive(others[0], held, depth - 1) if others else ()


def _warmed(item: Object, name: str) -> Fix | None:
    """Name the constant schedule that warms up, where it is named."""
    named = "lr_scheduler_type" if item.kind == "training_args" else "name"
    if name != "constant" or item.site is None:
        return None
    edit = rewrite.set_setting(item, named, f'"{WARMED}"')
    first = rewrite.positional(item.site, 0) if named == "name" and not rewrite.argument(item.site, named) else None
    if first is not None:
        literal = isinstance(first, ast.Constant) and isinstance(first.value, str)
        edit = rewrite.replace(Site.at(item.site.module, first), f'"{WARMED}"') if literal else None
    return (
        Fix("warm-up", "Name the schedule with warmup", (edit,), "unsafe", intent=("updates", "loss")) if edit else None
    )
