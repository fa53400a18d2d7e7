"""# adapter-without-input-grads (GCL601)

## What it does
Finds adapters on a frozen model that is checkpointed reentrantly while nothing makes the inputs of the checkpointed
layers require gradients.

## Why it breaks
Reentrant checkpointing gives no gradient when none of its inputs requires one. With frozen embeddings the first
layer's input does not: `RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn`; where
something else trains as well, the adapters silently stay as they are.

## Example
```python
model = get_peft_model(model, lora)
model.gradient_checkpointing_enable()  # transformers 4.x: reentrant
```

## Use instead
```python
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
```
or `model.enable_input_require_grads()`.

## When it is fine
transformers 5.0 and later (it asks for input gradients itself); checkpointing turned on before the adapters are added
(peft adds the hook); trl's SFTTrainer making the adapters; non-reentrant checkpointing.

## Evidence
transformers 4.57.6 and 5.23.0 with peft 0.18 and 0.21. Under ZeRO-3 with deepspeed before 0.19.3 non-reentrant
checkpointing of adapters fails (GCL221): only input gradients are offered there.
huggingface/transformers#26334, #42489, #35826, huggingface/peft#742.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.frameworks.deepspeed import stage
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite, shared_fixes
from gclint.run.events import Backward, TrainerStarted
from gclint.run.run import Run, ways
from gclint.run.values import FALSE, NOTHING, Const, Object, Value

from ..words import TRAINS, TURNS_ON

SYMPTOM = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"

rule = Rule(
    code="GCL601",
    name="adapter-without-input-grads",
    docs=__doc__ or "",
    words=(("get_peft_model", "PeftModel", "add_adapter", "AutoPeftModelForCausalLM"), TRAINS, TURNS_ON),
    bears=("bits",),
    certainty=("fails",),
    fixable="safe",
    holds="transformers < 5.0",
    reproduction=Reproduction(
        "bad_enable_after.py", "bad_enable_after.fixed.py", raises=SYMPTOM, needs="transformers<5"
    ),
)


@rule.on(Backward, TrainerStarted)
def frozen_inputs(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Do adapters train behind reentrant checkpointing whose input requires no gradient?"""
    if isinstance(event, TrainerStarted):
        models = list(event.models)
    else:
        models = list(dict.fromkeys(item.attributes["of"].objects()[0] for item in event.forwards))
    for model in models:
        if model.known("trainable").constant() != "adapters":
            continue
        for guard, (adapter, region, grads) in ways(
            event.guard, model.known("adapter"), model.known("checkpointing"), model.state.get("input_grads", FALSE)
        ):
            if not isinstance(adapter, Object) or not isinstance(region, Object) or grads != Const(False):
                continue
            yield from _reentrant(run, model, adapter, region, Value([(guard, Const(True))]))


def needs_reentrant(run: Run, model: Object) -> bool:
    """Whether a model trains under ZeRO-3, where adapters with non-reentrant checkpointing break before 0.19.3."""
    version = run.targets.version("deepspeed")
    configs = model.known("deepspeed").objects()
    return version is not None and version < Version("0.19.3") and any(stage(config) == 3 for config in configs)


def _reentrant(run: Run, model: Object, adapter: Object, region: Object, base: Value) -> Iterator[Finding]:
    for guard, (_, mode) in ways(frozenset(), base, region.attributes.get("reentrant", NOTHING)):
        if mode != Const(True) or region.site is None or region.type == "call":
            continue
        related = [(adapter.site, "the adapters are added here, everything else is frozen")] if adapter.site else []
        yield rule.finding(
            run,
            region.site,
            "adapters behind reentrant checkpointing whose inputs require no gradient",
            guard=guard,
            symptom=SYMPTOM,
            related=related,
            versions=("transformers", "peft"),
            fixes=(None if needs_reentrant(run, model) else shared_fixes.non_reentrant(region), input_grads(adapter)),
        )
        return


def input_grads(adapter: Object) -> Fix | None:
    """Ask for input gradients on the line after the adapters are added to a named model."""
    site = adapter.site
    line = site.module.statement(site.node) if site is not None else None
    target = line.targets[0] if isinstance(line, ast.Assign) else None
    if site is None or not isinstance(target, (ast.Name, ast.Attribute)):
        return None
    edit = rewrite.insert_after(site, f"{site.module.code(target)}.enable_input_require_grads()")
    return Fix("input-grads", "Ask for input gradients", (edit,), "safe") if edit is not None else None
