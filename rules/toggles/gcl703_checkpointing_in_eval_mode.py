"""# checkpointing-in-eval-mode (GCL703)

## What it does
Finds training of a transformers model in evaluation mode although gradient checkpointing is turned on.

## Why it breaks
`from_pretrained` returns the model in evaluation mode. A loop of one's own, and Lightning from 2.2 on, leave it there.
transformers checkpoints in training mode only: no memory is saved, and dropout is off as well.

## Example
```python
model = AutoModelForCausalLM.from_pretrained(name)
model.gradient_checkpointing_enable()
for batch in loader:
    model(**batch).loss.backward()
```

## Use instead
```python
model.gradient_checkpointing_enable()
model.train()
```

## When it is fine
Trainer and trl, which set the mode; models built from a configuration; diffusers, which do not look at the mode.

## Evidence
transformers 4.57.6 and 5.23.0, lightning 2.6.6: no region is recomputed.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gclint.analysis import rewrite
from gclint.analysis.events import Backward
from gclint.analysis.parallel import trained
from gclint.analysis.run import Run, ways
from gclint.analysis.values import Const, Object, root
from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule

from ..words import BACKWARD

rule = Rule(
    code="GCL703",
    name="checkpointing-in-eval-mode",
    docs=__doc__ or "",
    words=(
        ("gradient_checkpointing_enable", "activation_checkpointing_enable"),
        ("from_pretrained", "eval"),
        (*BACKWARD, "LightningModule"),
    ),
    certainty=("fails",),
    fixable="safe",
    reproduction=Reproduction("bad_loop.py", "bad_loop.fixed.py", oracles=("recompute",)),
)


@rule.on(Backward)
def trains_in_eval_mode(event: Backward, run: Run) -> Iterator[Finding]:
    """Does a model that checkpoints get gradients in evaluation mode?"""
    whole = trained(event)
    for model in run.models:
        if root(model) not in whole or str(model.type).startswith("diffusers") or model.known("unsloth"):
            continue
        for guard, (mode, region) in ways(event.guard, model.known("training"), model.known("checkpointing")):
            if any(atom.each for atom, _ in guard - event.guard):
                continue  # a mode that one round of a loop sets holds in the next rounds
            if mode != Const(False) or not isinstance(region, Object) or region.type != "method" or not region.site:
                continue
            yield rule.finding(
                run,
                region.site,
                "checkpointing is turned on, but the model trains in evaluation mode, where it does nothing",
                guard=guard,
                symptom="silent: nothing is checkpointed, dropout is off",
                related=[
                    *([(model.site, "loaded in evaluation mode")] if model.site else []),
                    (event.site, "gradients are computed here"),
                ],
                fixes=(_train(region),),
                versions=("transformers",),
            )
            break


def _train(region: Object) -> Fix | None:
    """Put the model into training mode after checkpointing is turned on."""
    node = region.site.node if region.site is not None else None
    if region.site is None or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    edit = rewrite.insert_after(region.site, f"{region.site.module.code(node.func.value)}.train()")
    return Fix("train-mode", "Put the model into training mode", (edit,)) if edit is not None else None
