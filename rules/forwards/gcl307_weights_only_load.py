"""# weights-only-load (GCL307)

## What it does
Finds `torch.load` without `weights_only` of a file in which the same program saves more than tensors.

## Why it breaks
From torch 2.6 on `weights_only` is True: a module, a namespace of options, a numpy array, a path or an
object of the project's own raises `UnpicklingError: Weights only load failed`, mostly when a run is
resumed.

## Example
```python
torch.save({"model": model.state_dict(), "args": parser.parse_args()}, path)
saved = torch.load(path)
```

## Use instead
```python
torch.save({"model": model.state_dict(), "args": vars(args)}, path)
saved = torch.load(path)
```
Or `torch.load(path, weights_only=False)`, for files that you trust: it runs whatever code they hold.

## When it is fine
State dicts of modules, optimizers, schedulers and scalers; classes named by `safe_globals` or `add_safe_globals`; torch
before 2.6.

## Evidence
torch 2.13.0: Namespace, numpy scalars and arrays, Path, defaultdict and modules raise; OrderedDict does
not. nerfstudio-project/nerfstudio#3702.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.ir.syntax import dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import calls_in
from gclint.run.events import LibraryCall, RunEnded
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.saved import Saved, file_key, saves
from gclint.run.values import Class, Object, Value

SYMPTOM = "UnpicklingError: Weights only load failed"
MODULES = ("module", "modules", "model", "layer", "ddp")

rule = Rule(
    code="GCL307",
    name="weights-only-load",
    docs=__doc__ or "",
    words=(
        ("load(", "load,", "load)", "import load", "load as"),
        ("save(", "save,", "save)", "import save", "save as"),
        ("torch",),
    ),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    holds="torch >= 2.6",
    reproduction=Reproduction(
        "bad_namespace.py", "bad_namespace.fixed.py", raises="UnpicklingError: Weights only load failed"
    ),
)


@rule.on(RunEnded)
def more_than_tensors(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does the program load, as weights only, a file in which it saves other objects?"""
    version = run.targets.version("torch")
    if version is not None and version < Version("2.6"):
        return
    made = {item: call.name for call in run.of_type(LibraryCall) for item in call.result.objects()}
    files = saves(run)
    for load in run.of_type(LibraryCall):
        call = load.call
        if load.name != "torch.load" or call is None or call.open or call.gives("weights_only"):
            continue
        if _allowed(load, run):
            continue
        file = file_key(call.get("f", 0), load.site, 0)
        for saved in files:
            found = _unsafe(saved.content, made) if file and saved.file == file else None
            guard = together(load.guard, saved.guard, found[0]) if found is not None else None
            if found is None or guard is None:
                continue
            yield _finding(run, load, saved, guard, found[1])
            break


def _allowed(load: LibraryCall, run: Run) -> bool:
    """Whether the program names classes that torch.load may make, for good or around this load."""
    module = load.site.module
    around = [node for node in module.ancestors(load.site.node) if isinstance(node, ast.With)]
    entered = [dotted(call.func) for node in around for item in node.items for call in calls_in(item.context_expr)]
    named = any(event.name == "torch.serialization.add_safe_globals" for event in run.of_type(LibraryCall))
    return named or any(name.endswith("safe_globals") for name in entered)


def _finding(run: Run, load: LibraryCall, saved: Saved, guard: Guard, what: str) -> Finding:
    edit = rewrite.set_argument(load.site, "weights_only", "False")
    fix = (
        Fix(
            "not-weights-only",
            "Pass weights_only=False, for files that you trust",
            (edit,),
            "unsafe",
            "loading runs whatever code the file holds",
            intent=("loaded",),
        )
        if edit is not None
        else None
    )
    return rule.finding(
        run,
        load.site,
        f"the file holds {what}, which torch.load refuses since 2.6 unless weights_only is False",
        guard=guard,
        certainty="fragile" if run.open_guard(guard) else "fails",
        symptom=SYMPTOM,
        related=[(saved.site, "saved here")],
        fixes=(fix,),
    )


def _unsafe(value: Value, made: dict[Object, str], depth: int = 0) -> tuple[Guard, str] | None:
    """The first thing in what is saved that is neither tensor nor plain data, and its guard."""
    for guard, item in value:
        if not isinstance(item, Object):
            continue
        name = made.get(item, "")
        if item.kind in MODULES:
            return guard, f"the module `{item.text or item.class_name}` itself"
        if item.kind in ("namespace", "instance") and (item.kind == "namespace" or isinstance(item.type, Class)):
            return guard, f"an object of class {item.class_name}"
        if name.startswith(("numpy.", "pathlib.")) or name == "collections.defaultdict":
            return guard, f"what {name} gives"
        parts = [*(item.items or []), *(item.entries or {}).values()] if depth < 3 else []
        for part in parts if item.type != "state_dict" else ():
            found = _unsafe(part, made, depth + 1)
            held = together(guard, found[0]) if found is not None else None
            if found is not None and held is not None:
                return held, found[1]
    return None
