"""# prompt-adapter-checkpointing (GCL604)

## What it does
Finds prefix tuning of a model that trains with gradient checkpointing.

## Why it breaks
Prefix tuning hands its prefix to the model as a key-value cache, and checkpointing turns caches off: the forward
raises, or the attention mask no longer fits the keys.

## Example
```python
model = get_peft_model(model, PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=8))
model.gradient_checkpointing_enable()
```

## Use instead
```python
model = get_peft_model(model, PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=8))
```
without checkpointing, or LoRA with it.

## When it is fine
LoRA and other adapters that add no cache; prompt tuning; checkpointing turned off again.

## Evidence
transformers 4.57.6 and 5.23.0 with peft 0.18 and 0.21: ValueError, or a size mismatch, in the first forward.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding
from gclint.rule import Reproduction, Rule
from gclint.run import shared_fixes
from gclint.run.events import Backward, TrainerStarted
from gclint.run.parallel import trained
from gclint.run.run import Run, together, ways, weakest, when
from gclint.run.values import NOTHING, Alternative, Object

from ..words import TRAINS, TURNS_ON

rule = Rule(
    code="GCL604",
    name="prompt-adapter-checkpointing",
    docs=__doc__ or "",
    words=(("PrefixTuningConfig",), TRAINS, TURNS_ON),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_prefix.py",
        "bad_prefix.fixed.py",
        raises="RuntimeError: The size of tensor a (16) must match the size of tensor b (20)",
    ),
)


@rule.on(Backward, TrainerStarted)
def prefix_and_checkpointing(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a model with a prefix in its cache train with checkpointing?"""
    for model in trained(event):
        for guard, (adapter, region) in ways(event.guard, model.known("adapter"), model.known("checkpointing")):
            if not isinstance(adapter, Object) or not isinstance(region, Object) or region.site is None:
                continue
            configs = when(adapter.attributes.get("config", NOTHING), _is_prefix)
            held = weakest(both for chosen, _ in configs if (both := together(guard, chosen)) is not None)
            if held is None:
                continue
            yield rule.finding(
                run,
                region.site,
                "checkpointing turns off the key-value cache that prefix tuning puts its prefix in",
                guard=held,
                symptom="ValueError, or a size mismatch between attention mask and keys",
                related=[(adapter.site, "the prefix is added here")] if adapter.site is not None else [],
                fixes=(shared_fixes.checkpointing_off(model),),
                versions=("transformers", "peft"),
            )
            return


def _is_prefix(config: Alternative) -> bool:
    return isinstance(config, Object) and config.is_a("PrefixTuningConfig")
