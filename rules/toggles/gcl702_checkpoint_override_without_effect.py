"""# checkpoint-override-without-effect (GCL702)

## What it does
Finds a replacement of `torch.utils.checkpoint.checkpoint` after other modules took the function for themselves.

## Why it breaks
`from torch.utils.checkpoint import checkpoint` copies the reference: whoever imported before keeps torch's own, and
transformers' models call a function they took when they were imported. The replacement looks like a cure and does
nothing.

## Example
```python
import transformers
import torch.utils.checkpoint

torch.utils.checkpoint.checkpoint = lambda f, *args, **kwargs: f(*args, **kwargs)
```

## Use instead
```python
model.gradient_checkpointing_disable()
```

## When it is fine
The replacement stands above the imports and every user reads the attribute; tests that patch and restore; code that
replaces the library's own reference as well (`transformers.modeling_utils.checkpoint`).

## Evidence
transformers 4.57.6 and 5.23.0 (never called), torch 2.13.0 (later imports see the new one).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gclint.analysis import rewrite
from gclint.analysis.events import AttributeSet
from gclint.analysis.run import Run
from gclint.analysis.syntax import Module, Site
from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule

from ..words import assigned

REPLACED = ("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")
TAKE_THEIR_OWN = ("transformers", "peft", "trl", "accelerate", "diffusers", "unsloth")

rule = Rule(
    code="GCL702",
    name="checkpoint-override-without-effect",
    docs=__doc__ or "",
    words=assigned("checkpoint"),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    reproduction=Reproduction("bad_override.py", "after_disable.py", oracles=("recompute-off",)),
)


@rule.on(AttributeSet)
def replaced_too_late(event: AttributeSet, run: Run) -> Iterator[Finding]:
    """Has somebody taken torch's own function already?"""
    if event.library_name not in REPLACED or any("mock" in str(item.type) for item in event.moment.contexts):
        return
    holder = next((name for name in TAKE_THEIR_OWN if name in run.imported), None)
    taken = run.taken.get(event.library_name)
    if (holder is None and taken is None) or (holder is not None and _handed_to(holder, event.site.module)):
        return
    place = run.first_import(holder) if holder is not None else taken
    who = holder or "another module"
    yield rule.finding(
        run,
        event.site,
        f"torch's checkpoint is replaced after {who} took its own reference: it keeps calling torch's",
        guard=event.guard,
        certainty="fails" if holder in ("transformers", "unsloth") else "fragile",
        symptom="silent: the replacement is never called",
        related=[(place, f"{who} is imported here" if holder else "the function is taken here")] if place else [],
        fixes=(_removed(event.site),),
        versions=("torch", "transformers"),
    )


def _handed_to(holder: str, module: Module) -> bool:
    """Whether the same module puts a function in the place of the library's own reference as well."""
    return re.search(rf"\b{holder}\.[\w.]*\bcheckpoint\s*=(?!=)", module.text) is not None


def _removed(site: Site) -> Fix | None:
    edit = rewrite.remove_statement(site)
    return Fix("remove-override", "Remove the replacement", (edit,), "unsafe") if edit is not None else None
