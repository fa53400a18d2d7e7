"""# nonpublic-name (GCL908)

## What it does
Finds functions that are taken from a private module of torch although torch has them under a public name.

## Why it breaks
A private module moves or goes without notice, with an ImportError at the start of the run.

## Example
```python
from torch.utils.data._utils.collate import default_collate
```

## Use instead
```python
from torch.utils.data import default_collate
```

## When it is fine
torch before 1.11, which has no public name; a `try` that falls back on the other one.

## Evidence
torch 2.13.0: both names are the same function; `torch.utils.data` documents its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, NameTaken
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run

PRIVATE, PUBLIC = "torch.utils.data._utils.collate", "torch.utils.data"
NAMES = ("default_collate", "default_convert")
WHOLE = tuple(f"{PRIVATE}.{name}" for name in NAMES)
SINCE = "1.11"

rule = Rule(
    code="GCL908",
    name="nonpublic-name",
    docs=__doc__ or "",
    words=(("_utils.collate", "data._utils", "import _utils"), NAMES, ("torch",)),
    certainty=("fragile",),
    fixable="safe",
    holds=f"torch >= {SINCE}",
    reproduction=Reproduction(needs="a version that has moved the private module"),
)


@rule.on(NameTaken)
def imported(event: NameTaken, run: Run) -> Iterator[Finding]:
    """Is a function imported from the private module?"""
    if event.library_name in WHOLE and not event.moment.handlers:
        yield from _finding(event, run, event.library_name, _import(event.site))


@rule.on(LibraryCall)
def called(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is it called by its whole private name?"""
    node, name = rewrite.call_node(event.site), event.call.name if event.call is not None else ""
    if name in WHOLE and node is not None and not isinstance(node.func, ast.Name):
        public = f"{PUBLIC}.{name.rpartition('.')[2]}"
        edit = rewrite.replace(Site.at(event.site.module, node.func), public) if dotted(node.func) == name else None
        yield from _finding(event, run, name, Fix("public-name", f"Call {public}", (edit,)) if edit else None)


def _finding(event: NameTaken | LibraryCall, run: Run, name: str, fix: Fix | None) -> Iterator[Finding]:
    version = run.targets.version("torch")
    if version is not None and version >= Version(SINCE) and not compares_release(event.guard, "torch"):
        yield rule.finding(
            run,
            event.site,
            f"`{name}` is private: `{PUBLIC}.{name.rpartition('.')[2]}` is the same",
            guard=event.guard,
            certainty="fragile",
            symptom="ImportError once the private module moves",
            fixes=(fix,),
        )


def _import(site: Site) -> Fix | None:
    """The same import from the public module."""
    node = site.node
    if not isinstance(node, ast.ImportFrom) or any(alias.name not in NAMES for alias in node.names):
        return None
    names = ", ".join(alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in node.names)
    edit = rewrite.replace(site, f"from {PUBLIC} import {names}")
    return Fix("public-name", f"Import it from {PUBLIC}", (edit,))
