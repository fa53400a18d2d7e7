"""# generate-while-checkpointing (GCL704)

## What it does
Finds `generate()` on a model in training mode with gradient checkpointing on.

## Why it breaks
Checkpointed layers drop the key-value cache, while `generate()` feeds one new token at a time: each token is computed
without those before it. The text is wrong; a warning at most says so.

## Example
```python
model.train()
model.gradient_checkpointing_enable()
samples = model.generate(prompt, max_new_tokens=64)
```

## Use instead
```python
samples = model.generate(prompt, max_new_tokens=64, use_cache=False)
```
or evaluation mode, or checkpointing off, while it generates.

## When it is fine
Evaluation mode; `use_cache=False`; trl's trainers, which turn checkpointing off meanwhile.

## Evidence
transformers 4.53 to 5.23.0: other tokens than in evaluation mode. Since 5.24 layers are checkpointed only where
gradients are recorded, which `generate` does not do (modeling_layers.py, `GradientCheckpointingLayer`).
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Generated
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, Object

from ..words import LIBRARIES, TURNS_ON

rule = Rule(
    code="GCL704",
    name="generate-while-checkpointing",
    docs=__doc__ or "",
    words=((".generate", '"generate"'), LIBRARIES, TURNS_ON),
    certainty=("fails",),
    fixable="safe",
    holds="transformers >= 4.53, < 5.24",
    reproduction=Reproduction(
        "bad_pseudo_labels.py",
        "bad_pseudo_labels.fixed.py",
        raises="AssertionError: other tokens than in evaluation mode",
        intent=("forwards", "random"),
    ),
)


@rule.on(Generated)
def generates_in_training_mode(event: Generated, run: Run) -> Iterator[Finding]:
    """Does a model generate with a cache that checkpointing drops?"""
    version = run.targets.version("transformers")
    call, model = event.call, event.model
    if version is not None and not Version("4.53") <= version < Version("5.24"):
        return
    if call is None or call.open or model.known("unsloth"):
        return
    if call.gives("use_cache") or call.gives("generation_config") or _cache_off(model):
        return
    for guard, (mode, region) in ways(event.guard, model.known("training"), model.known("checkpointing")):
        if mode != Const(True) or not isinstance(region, Object) or region.site is None or region.type == "call":
            continue
        edit = rewrite.set_argument(event.site, "use_cache", "False")
        fix = (
            Fix(
                "no-cache",
                "Generate without a cache",
                (edit,),
                "safe",
                "generation is slower",
                intent=("forwards", "random"),
            )
            if edit
            else None
        )
        yield rule.finding(
            run,
            event.site,
            "the model generates in training mode with checkpointing on: its layers drop the cache "
            "that generation relies on",
            guard=guard,
            symptom="silent: wrong tokens",
            related=[(region.site, "checkpointing is turned on here")],
            fixes=(fix,),
            versions=("transformers",),
        )
        return


def _cache_off(model: Object) -> bool:
    """Whether the code turns the cache off on the model's generation configuration."""
    for name in ("generation_config", "config"):
        for config in model.attributes.get(name, NOTHING).objects():
            if config.attributes.get("use_cache", NOTHING).constant() is False:
                return True
    return False
