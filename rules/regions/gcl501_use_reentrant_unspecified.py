"""# use-reentrant-unspecified (GCL501)

## What it does
Finds calls of `torch.utils.checkpoint.checkpoint` and `checkpoint_sequential` that leave `use_reentrant`
out.

## Why it breaks
Left out, it still means reentrant (torch 2.13), with a warning that the default will change. Reentrant
checkpointing gives no gradient when no input requires one, raises on keyword arguments, loses gradients
that travel in lists or dicts, and fails under DDP with unused parameters. The call works today only as long
as none of these holds.

## Example
```python
x = checkpoint(block, x)
```

## Use instead
```python
x = checkpoint(block, x, use_reentrant=False)
```

## When it is fine
A wrapper or partial that supplies `use_reentrant`; another library's function of the same name; torch before 2.1,
which takes it for given (`checkpoint_sequential` before 2.2).

## Evidence
torch/utils/checkpoint.py (2.13.0), pytorch/pytorch#160534, huggingface/pytorch-image-models#2394;
pytorch/pytorch#100551 (the warning, since 2.1; that of `checkpoint_sequential`, since 2.2).
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.frameworks.torch_checkpoint import CHECKPOINT_OPTIONS
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import CheckpointCall
from gclint.run.run import Run

from ..words import CHECKPOINTS

WARNS_SINCE, IN_SEQUENCE_SINCE = Version("2.1"), Version("2.2")
"""The first releases in which `checkpoint`, and `checkpoint_sequential`, warn (torch/utils/checkpoint.py)."""

rule = Rule(
    code="GCL501",
    name="use-reentrant-unspecified",
    docs=__doc__ or "",
    words=(CHECKPOINTS, ("checkpoint",)),
    certainty=("fails", "fragile"),
    fixable="safe",
    oracles=(
        "missing",
        "gradients",
        "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        "RuntimeError: When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad()",
    ),
    reproduction=Reproduction(
        "bad_keyword.py", "bad_keyword.fixed.py", raises="ValueError: Unexpected keyword arguments: mask"
    ),
)


@rule.on(CheckpointCall)
def left_out(event: CheckpointCall, run: Run) -> Iterator[Finding]:
    """Does the call leave use_reentrant to torch?"""
    call = event.call
    if call is None or event.reentrant or call.open:
        return
    extra = sorted(set(call.keywords) - set(CHECKPOINT_OPTIONS)) if not event.sequential else []
    version, since = run.targets.version("torch"), IN_SEQUENCE_SINCE if event.sequential else WARNS_SINCE
    if not extra and version is not None and version < since:
        return
    message = "use_reentrant is not given: torch takes True and warns"
    symptom = ""
    if extra:
        message = f"use_reentrant is not given, and reentrant checkpointing takes no keyword argument `{extra[0]}`"
        symptom = f"ValueError: Unexpected keyword arguments: {extra[0]}"
    edit = rewrite.set_argument(event.site, "use_reentrant", "False")
    fix = Fix("use-reentrant-false", "Pass use_reentrant=False", (edit,)) if edit is not None else None
    yield rule.finding(
        run,
        event.site,
        message,
        guard=event.guard,
        certainty="fails" if extra else "fragile",
        symptom=symptom,
        fixes=(fix,),
        versions=("torch",),
    )
