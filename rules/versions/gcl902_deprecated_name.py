"""# deprecated-name (GCL902)

## What it does
Finds names that still work and are announced to go: `torch.cuda.amp.autocast` and `GradScaler`, and, for projects that
ask for transformers 5.23 or later, `gradient_checkpointing*` in the place of `activation_checkpointing*`.

## Why it breaks
Each use warns, and raises once the name is gone (transformers 6 for the second).

## Example
```python
scaler = torch.cuda.amp.GradScaler()
model.gradient_checkpointing_enable()
```

## Use instead
```python
scaler = torch.amp.GradScaler("cuda")
model.activation_checkpointing_enable()
```

## When it is fine
torch before 2.4; a `try` that falls back from one name on the other; a condition that compares the package's release;
projects that are to run on transformers before 5.23, which knows the old names only.

## Evidence
torch 2.13.0 and transformers 5.23.0: FutureWarning.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.ir.layout import is_spread
from gclint.ir.scan import imports_of
from gclint.ir.syntax import Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall
from gclint.run.guards import Guard
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run
from gclint.run.values import Class

from ..words import LIBRARIES
from .attempts import attempted

OLD = "torch.cuda.amp"
METHODS = ("gradient_checkpointing_enable", "gradient_checkpointing_disable")
ARGUMENTS = ("gradient_checkpointing", "gradient_checkpointing_kwargs")
ARGUMENT_CLASSES = ("TrainingArguments", "Seq2SeqTrainingArguments")
QUOTED = tuple(f'"{name}"' for name in (*METHODS, *ARGUMENTS))
OF_TORCH = ("cuda.amp", "cuda import amp", "torch.cuda as", "torch import cuda")
TORCH_NAMES = ("autocast", "GradScaler")
TRANSFORMERS_NAMES = (*(f"{name}(" for name in METHODS), *(f"{name}=" for name in ARGUMENTS), *QUOTED)

rule = Rule(
    code="GCL902",
    name="deprecated-name",
    docs=__doc__ or "",
    words=(
        (*LIBRARIES, *OF_TORCH),
        (*TORCH_NAMES, *TRANSFORMERS_NAMES),
        (*LIBRARIES, *TORCH_NAMES),
        (*OF_TORCH, *TRANSFORMERS_NAMES),
    ),
    certainty=("fragile",),
    fixable="safe",
    reproduction=Reproduction(needs="a version that has removed the names"),
)


@rule.on(LibraryCall)
def old_name(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is something called by a name that is about to go?"""
    for old in _called(event, run):
        if not compares_release(event.guard, old.package) and not attempted(event.site):
            yield _finding(run, old)


class _Old(NamedTuple):
    """A name that is about to go, the place that uses it, what it is called now, in which package, and under which
    condition it is used.
    """

    site: Site
    name: str
    new: str
    fix: Fix | None
    package: str
    guard: Guard


def _called(event: LibraryCall, run: Run) -> Iterator[_Old]:
    call = event.call
    if call is None:
        return
    if call.name in (
        f"{OLD}.autocast",
        f"{OLD}.GradScaler",
        f"{OLD}.grad_scaler.GradScaler",
        f"{OLD}.autocast_mode.autocast",
    ):
        version = run.targets.version("torch")
        if version is None or version >= Version("2.4"):
            new = f'torch.amp.{call.last}("cuda", ...)'
            yield _Old(event.site, f"{OLD}.{call.last}", new, _torch_name(event.site, call.last), "torch", event.guard)
    elif call.last in (*METHODS, *ARGUMENT_CLASSES) and _asked_for(run):
        if (
            call.last in METHODS
            and call.receiver is not None
            and call.receiver.kind == "model"
            and not isinstance(call.receiver.type, Class)
            and str(call.receiver.type).startswith("transformers.")
        ):
            new = call.last.replace("gradient", "activation")
            yield _Old(event.site, call.last, new, _method(event.site, new), "transformers", event.guard)
        elif call.last in ARGUMENT_CLASSES and call.instance is None:
            for name in ARGUMENTS:
                guard = call.given_under(name, event.guard)
                if guard is not None:
                    held = rewrite.argument(event.site, name)
                    new = name.replace("gradient", "activation")
                    edit = rewrite.replace_name(Site.at(event.site.module, held), new) if held is not None else None
                    fix = Fix("new-name", f"Call it {new}", (edit,)) if edit is not None else None
                    yield _Old(call.place(name), name, new, fix, "transformers", guard)


def _finding(run: Run, old: _Old) -> Finding:
    return rule.finding(
        run,
        old.site,
        f"`{old.name}` is deprecated: it is `{old.new}` now",
        guard=old.guard,
        certainty="fragile",
        symptom="FutureWarning; an error once the name is gone",
        fixes=(old.fix,),
        versions=(old.package,),
        help="" if old.fix else f"write `{old.new}`",
    )


def _asked_for(run: Run) -> bool:
    """Whether the project itself asks for a transformers that has the new names, and for none without them."""
    target = run.targets["transformers"]
    boundary = Version("5.23")
    return (
        target.origin not in ("installed", "newest", "unknown")
        and target.version is not None
        and target.version >= boundary
        and (target.oldest is None or target.oldest >= boundary)
    )


def _method(site: Site, new: str) -> Fix | None:
    node = rewrite.call_node(site)
    if node is None or not isinstance(node.func, ast.Attribute):
        return None
    return Fix("new-name", f"Call it {new}", (rewrite.replace_name(Site.at(site.module, node.func), new),))


def _torch_name(site: Site, last: str) -> Fix | None:
    """torch.amp's own, for CUDA; where `torch` is a name of the module, and the name stands for nothing else."""
    node, module = rewrite.call_node(site), site.module
    text = dotted(node.func) if node is not None else ""
    imported = any(line.strip() == "import torch" for line in module.lines)
    several = sum(item.name == text for item in imports_of("\n".join(module.lines))) > 1
    if node is None or not imported or several or not text or node.args or any(map(is_spread, node.keywords)):
        return None
    rest = ", ".join(map(module.code, node.keywords))
    edit = rewrite.replace(site, f'torch.amp.{last}("cuda"{", " if rest else ""}{rest})')
    return Fix("new-name", f"Use torch.amp.{last}", (edit,))
