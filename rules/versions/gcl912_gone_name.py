"""# gone-name (GCL912)

## What it does
Finds imports of names that transformers, trl, peft or datasets do not have any more: `from transformers import AdamW`.

## Why it breaks
The import raises ImportError before anything trains; a call by the whole name, `datasets.load_metric("f1")`,
AttributeError when it is come to.

## Example
```python
from transformers import AdamW
```

## Use instead
```python
from torch.optim import AdamW  # eps is 1e-8 and weight_decay 0.01 by default; they were 1e-6 and 0
```

## When it is fine
A release that has it; `try` with an alternative for ImportError; a condition on the release, or one whose other branch
imports the same name from elsewhere.

## Evidence
The table is read off the libraries' wheels and tried on transformers 5.24, trl 1.16, peft 0.21 and datasets 5.2.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Event, Imported, LibraryCall, NameTaken
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run

from .attempts import attempted, bound_otherwise
from .gone_names import INSTEAD, MODULES, NAMES, OF_MODELS_WORDS, gone_since

PACKAGES = ("transformers", "trl", "peft", "datasets")
ANOTHER = "the package has to be installed"
OTHER_DEFAULTS = "its defaults are others: eps 1e-8 (was 1e-6), weight_decay 0.01 (was 0)"

rule = Rule(
    code="GCL912",
    name="gone-name",
    docs=__doc__ or "",
    words=((*sorted({each.rpartition(".")[2] for each in NAMES}), *MODULES, *OF_MODELS_WORDS), PACKAGES),
    certainty=("fails",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction("bad_chunks.py", "bad_chunks.fixed.py", raises="ImportError: cannot import name"),
)


@rule.on(NameTaken)
def taken(event: NameTaken, run: Run) -> Iterator[Finding]:
    """Is a name imported that the release lacks?"""
    name = event.library_name
    module = name.rpartition(".")[0]
    gone = _gone_above(module) or (name if gone_since(name) else "")
    if not gone or bound_otherwise(event.site, event.name):
        return
    if gone in MODULES:
        error, place = f"ModuleNotFoundError: No module named '{gone}'", event.site
    else:
        error = f"ImportError: cannot import name '{name.rpartition('.')[2]}'"
        place = rewrite.imported_name(event.site, event.name)
    yield from _told(event, run, gone, error, _imported(event, gone), place)


@rule.on(Imported)
def imported(event: Imported, run: Run) -> Iterator[Finding]:
    """Is a module imported, by an import statement of its own, that the release lacks?"""
    if isinstance(event.site.node, ast.Import) and event.name in {each.name for each in event.site.node.names}:
        gone = _gone_above(event.name)
        yield from _told(event, run, gone, f"ModuleNotFoundError: No module named '{gone}'", None)


@rule.on(LibraryCall)
def called(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is it called by its whole name?"""
    name, node = event.call.name if event.call is not None else "", rewrite.call_node(event.site)
    if name in NAMES and node is not None and isinstance(node.func, ast.Attribute):
        module, _, last = name.rpartition(".")
        error = f"AttributeError: module '{module}' has no attribute '{last}'"
        yield from _told(event, run, name, error, None, Site.at(event.site.module, node.func))


@cache
def _gone_above(module: str) -> str:
    """The module that is gone, of those that a dotted name leads through; "" where all are there."""
    return next((each for each in MODULES if f"{module}.".startswith(f"{each}.")), "")


def _told(
    event: Event, run: Run, gone: str, symptom: str, fix: Fix | None, place: Site | None = None
) -> Iterator[Finding]:
    package = gone.partition(".")[0]
    version, since = run.targets.version(package), gone_since(gone)
    if since is None or version is None or version < Version(since):
        return
    if attempted(event.site) or compares_release(event.guard, package):
        return
    new, comma, rest = INSTEAD.get(gone, "").partition(",")
    yield rule.finding(
        run,
        place or event.site,
        f"`{gone}` is gone" + (f": it is {f'`{new}`' if ' ' not in new else new} now{comma}{rest}" if new else ""),
        guard=event.guard,
        symptom=symptom,
        fixes=(fix,),
        versions=(package,),
        help="" if fix else f"take {new} in its place" if new else f"{package} below {since} may have it",
    )


def _imported(event: NameTaken, gone: str) -> Fix | None:
    """Import what does the same, of what the statement takes this name alone."""
    new = INSTEAD.get(gone, "").partition(",")[0]
    if "." not in new or " " in new:
        return None
    module, _, last = new.rpartition(".") if gone not in MODULES else (new, "", event.library_name.rpartition(".")[2])
    kept = f" as {event.name}" if last != event.name else ""
    edits = rewrite.import_apart(event.site, event.name, f"from {module} import {last}{kept}")
    if not edits:
        return None
    note = (
        OTHER_DEFAULTS if last == "AdamW" else ANOTHER if module.partition(".")[0] not in (*PACKAGES, "torch") else ""
    )
    return Fix("new-name", f"Import it from {module}", tuple(edits), "unsafe" if note else "safe", note)
