"""# renamed-field-in-subclass (GCL905)

## What it does
Finds settings that a subclass of TrainingArguments declares by a name that the target version has renamed.

## Why it breaks
The field is the subclass's own now and nothing reads it: with `evaluation_strategy: str = "steps"` the run trains and
never evaluates. No error tells of it, since the constructor and the command line take the field.

## Example
```python
@dataclass
class OwnArguments(TrainingArguments):
    evaluation_strategy: str = field(default="steps")
```

## Use instead
```python
@dataclass
class OwnArguments(TrainingArguments):
    eval_strategy: str = field(default="steps")
```

## When it is fine
Versions with the old name; a field that the project reads itself, or hands on.

## Evidence
transformers 5.23.0: with `evaluation_strategy: str = "steps"` in a subclass `eval_strategy` stays "no". The releases
are those of removed-argument (GCL901).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run
from gclint.run.values import Class

from ..words import LIBRARIES
from .removed import ARGUMENTS, SETTINGS, Removed

RENAMED = {key: row for key, row in ARGUMENTS.items() if key[0] in SETTINGS and row.instead and "=" not in row.instead}
CHANGES: tuple[Aspect, ...] = ("steps", "forwards", "modes", "random", "updates")

rule = Rule(
    code="GCL905",
    name="renamed-field-in-subclass",
    docs=__doc__ or "",
    words=(tuple(sorted({f"{name}:" for _, name in RENAMED})), LIBRARIES, SETTINGS),
    certainty=("fragile",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_warm_up.py",
        "bad_warm_up.fixed.py",
        raises="AssertionError: no step warms up",
        intent=CHANGES,
    ),
)


@rule.on(LibraryCall)
def declared_by_its_old_name(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a setting made of a class that declares a field by a name which the library has left?"""
    call = event.call
    owner = call.instance.type if call is not None and call.instance is not None else None
    if call is None or not isinstance(owner, Class) or call.last not in SETTINGS:
        return
    fields = dict(reversed(list(_fields(owner))))
    for name, site in fields.items():
        row = RENAMED.get((call.last, name))
        version = run.targets.version(row.package) if row is not None else None
        if row is None or version is None or version < Version(row.gone) or row.instead in fields:
            continue
        if not _read(run, name) and not compares_release(event.guard, row.package):
            yield _finding(run, event, site, name, row)


def _fields(owner: Class) -> Iterator[tuple[str, Site]]:
    """The fields with defaults that the project's classes declare, the nearest first."""
    for base in owner.ancestry():
        if isinstance(base, Class):
            for line in base.node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value is not None:
                    yield line.target.id, Site.at(base.module, line.target)


def _finding(run: Run, event: LibraryCall, site: Site, name: str, row: Removed) -> Finding:
    alone = sum(module.text.count(name) for module in run.modules_with(name)) == 1
    edit = rewrite.replace(site, row.instead)
    return rule.finding(
        run,
        site,
        f"`{name}` is `{row.instead}` now: nothing reads this field",
        guard=event.guard,
        certainty="fragile",
        related=[(event.site, "made here")],
        symptom="silent: the setting keeps its default",
        fixes=(Fix("rename", f"Call it {row.instead}", (edit,), "unsafe", intent=CHANGES) if alone else None,),
        versions=(row.package,),
    )


def _read(run: Run, name: str) -> bool:
    """Whether the project reads an attribute of this name, or names it in a text."""
    for module in run.modules_with(name):
        for node in ast.walk(module.tree):
            read = isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
            if read or (isinstance(node, ast.Constant) and node.value == name):
                return True
    return False
