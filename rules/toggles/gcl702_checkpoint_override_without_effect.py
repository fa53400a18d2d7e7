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

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import contains, read_names
from gclint.run.events import AttributeSet, CheckpointCall, Event, Imported, NameTaken, RunEnded
from gclint.run.parallel import since
from gclint.run.run import Run
from gclint.run.stepping import together
from gclint.run.values import External, Function

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
    reproduction=Reproduction(
        "bad_override.py", "after_disable.py", oracles=("recompute-off",), intent=("checkpointing",)
    ),
)


@rule.on(RunEnded)
def replaced_too_late(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Had somebody taken torch's own function before it was replaced, and does he keep it?"""
    for change in run.of_type(AttributeSet) if event.whole else ():
        if change.library_name not in REPLACED or _gives_back(change) or _in_a_mock(change):
            continue
        before = run.events[: run.place(change)]
        imported = {item.name for item in before if isinstance(item, Imported)}
        holder = next((name for name in TAKE_THEIR_OWN if name in imported), None)
        taken = next((item.site for item in before if _keeps(item, change, run)), None) if holder is None else None
        if (holder is None and taken is None) or (holder is not None and _handed_to(holder, change, run)):
            continue
        place = run.first_import(holder) if holder is not None else taken
        who = holder or "another module"
        yield rule.finding(
            run,
            change.site,
            f"torch's checkpoint is replaced after {who} took its own reference: it keeps calling torch's",
            guard=change.guard,
            certainty="fails" if holder in ("transformers", "unsloth") else "fragile",
            symptom="silent: the replacement is never called",
            related=[(place, f"{who} is imported here" if holder else "the function is taken here")] if place else [],
            fixes=(_removed(change.site),),
            versions=("torch", "transformers"),
        )


def _gives_back(change: AttributeSet) -> bool:
    """Whether what is assigned is torch's own function again."""
    return change.value.only() == External(change.library_name)


def _in_a_mock(change: AttributeSet) -> bool:
    return any("mock" in str(item.type) for item in change.moment.contexts)


def _handed_to(holder: str, change: AttributeSet, run: Run) -> bool:
    """Whether the run puts something in the place of a library's own reference as well."""
    return any(
        other.name == change.name and other.library_name.startswith(f"{holder}.") and together(other, change)
        for other in run.of_type(AttributeSet)
    )


def _keeps(item: Event, change: AttributeSet, run: Run) -> bool:
    """Whether a module of the project took the function for itself, and nothing is put in its place there either.

    The module that replaces it, or that of the wrapper, may have taken it in order to wrap it: there only a call
    besides counts.
    """
    if not isinstance(item, NameTaken) or item.library_name != change.library_name or not _is_read(item, run):
        return False
    module = item.site.module
    wrapping = [held for _, held in change.value if isinstance(held, Function)]
    if module is change.site.module or any(held.module is module for held in wrapping):
        wrappers = [held.node for held in wrapping]
        calls = [each.site.node for each in since(run, change, CheckpointCall) if each.site.module is module]
        return any(not any(contains(node, call, module) for node in wrappers) for call in calls)
    own = f"{module.name}.{item.name}"
    return not any(other.library_name == own and together(other, change) for other in run.of_type(AttributeSet))


def _is_read(taken: NameTaken, run: Run) -> bool:
    """Whether anybody uses the name: its own module, or one that takes it from there."""
    module = taken.site.module
    if taken.name in read_names(module.tree):
        return True
    others = {id(event.site.module): event.site.module for event in run.events}
    return any(_gets(node, taken) for other in others.values() if other is not module for node in nodes(other.tree))


def _gets(node: ast.AST, taken: NameTaken) -> bool:
    """Whether a node of another module may get the name from the one that took it."""
    if isinstance(node, ast.ImportFrom):
        named, names = node.module or "", [each.name for each in node.names]
        if "*" in names:
            return named.endswith(taken.site.module.name.rpartition(".")[2]) or not named
        return named != taken.library_name.rpartition(".")[0] and taken.name in names
    of_torch = isinstance(node, ast.Attribute) and f"{dotted(node.value)}.{taken.name}" == taken.library_name
    return isinstance(node, ast.Attribute) and node.attr == taken.name and not of_torch


def _removed(site: Site) -> Fix | None:
    edit = rewrite.remove_statement(site)
    return (
        Fix("remove-override", "Remove the replacement", (edit,), "unsafe", intent=("checkpointing",))
        if edit is not None
        else None
    )
