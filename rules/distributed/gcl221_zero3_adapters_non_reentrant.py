"""# zero3-adapters-non-reentrant (GCL221)

## What it does
Finds adapters under DeepSpeed ZeRO-3 with non-reentrant checkpointing, for DeepSpeed before 0.19.3.

## Why it breaks
ZeRO-3 gathers a layer's parameters for its forward and lets them go after it. In the recomputation frozen parameters
have another shape than they had, and non-reentrant checkpointing compares:
`CheckpointError: Recomputed values for the following tensors have different metadata`.

## Example
```python
args = TrainingArguments("out", deepspeed="zero3.json", gradient_checkpointing=True,
                         gradient_checkpointing_kwargs={"use_reentrant": False})
Trainer(get_peft_model(model, lora), args, train_dataset=data).train()
```

## Use instead
```python
args = TrainingArguments("out", deepspeed="zero3.json", gradient_checkpointing=True,
                         gradient_checkpointing_kwargs={"use_reentrant": True})
```

## When it is fine
DeepSpeed 0.19.3 and later; ZeRO-2; full fine-tuning; reentrant checkpointing.

## Evidence
deepspeed 0.18.2 and 0.19.2 fail (0.19.2 on two gloo ranks without a GPU, too), 0.19.3 to 0.19.8 pass.
huggingface/transformers#47254, deepspeedai/DeepSpeed#8130.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Edit, Finding, Fix
from gclint.frameworks.deepspeed import stage
from gclint.rule import Reproduction, Rule
from gclint.run import shared_fixes
from gclint.run.events import Backward, TrainerStarted
from gclint.run.parallel import trained
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, Object

from ..words import TRAINS, TURNS_ON

rule = Rule(
    code="GCL221",
    name="zero3-adapters-non-reentrant",
    docs=__doc__ or "",
    words=(("deepspeed",), ("get_peft_model", "PeftModel", "peft_config", "add_adapter"), TRAINS, TURNS_ON),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    holds="deepspeed < 0.19.3",
    reproduction=Reproduction("bad_two_ranks.py", "bad_two_ranks.fixed.py", processes=2, needs="deepspeed<0.19.3"),
)


@rule.on(Backward, TrainerStarted)
def frozen_under_zero3(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Do adapters train under ZeRO-3 with non-reentrant checkpointing?"""
    version = run.targets.version("deepspeed")
    if version is None or version >= Version("0.19.3"):
        return
    for model in trained(event):
        for guard, (config, adapter, region) in ways(
            event.guard, model.known("deepspeed"), model.known("adapter"), model.known("checkpointing")
        ):
            if not isinstance(config, Object) or not isinstance(adapter, Object) or not isinstance(region, Object):
                continue
            for held, (mode,) in ways(guard, region.attributes.get("reentrant", NOTHING)):
                if stage(config) != 3 or mode != Const(False) or region.site is None:
                    continue
                yield rule.finding(
                    run,
                    region.site,
                    "non-reentrant checkpointing of a partly frozen model under ZeRO-3",
                    guard=held,
                    symptom="torch.utils.checkpoint.CheckpointError: Recomputed values for the following tensors have "
                    "different metadata than during the forward pass.",
                    related=[(adapter.site, "all but the adapters is frozen here")] if adapter.site is not None else [],
                    fixes=(_reentrant(region),),
                    versions=("deepspeed", "transformers"),
                )
                return


def _reentrant(region: Object) -> Fix | None:
    """The edit that makes checkpointing non-reentrant, with the other answer."""
    made = shared_fixes.non_reentrant(region)
    if made is None or not region.attributes.get("kwargs", NOTHING):
        return None
    edits = tuple(
        Edit(edit.path, edit.line, edit.column, edit.end_line, edit.end_column, edit.text.replace("False", "True"))
        for edit in made.edits
    )
    return Fix("use-reentrant-true", "Use reentrant checkpointing (use_reentrant=True)", edits, "unsafe")
