"""# kbit-prepare-misuse (GCL605)

## What it does
Finds `prepare_model_for_kbit_training` on a model that is not quantised.

## Why it breaks
The function converts every half-precision parameter to float32, so that the model takes twice the memory, and freezes
them all; a model that is loaded in float32, as before transformers 5 without `torch_dtype`, stays as it is. It turns on
gradient checkpointing only for a quantised model: here it does not, though it looks as if it did.

## Example
```python
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
model = prepare_model_for_kbit_training(model)
```

## Use instead
```python
model = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_4bit=True))
model = prepare_model_for_kbit_training(model)
```
or, for a model that stays as it is, `model.gradient_checkpointing_enable()`.

## When it is fine
Models quantised by the call or by their checkpoint (GPTQ, AWQ, bnb-4bit).

## Evidence
peft 0.18 and 0.21: all parameters float32 afterwards, no region is recomputed.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding
from gclint.frameworks.peft import is_plain
from gclint.rule import Reproduction, Rule
from gclint.run.events import LibraryCall, RunEnded
from gclint.run.run import Run
from gclint.run.values import Object

CONVERTS = ("converts it to float32", "all parameters become float32")
STAYS_OFF = ("does not turn on checkpointing", "checkpointing stays off")
"""What preparing does, and what comes of it."""
FULL = ("float32", "float", "float64", "double")
AS_SAVED = Version("5")
"""The release of transformers from which a model is loaded in the dtype in which it was saved (`dtype="auto"`,
https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md); before it is in float32.
"""

rule = Rule(
    code="GCL605",
    name="kbit-prepare-misuse",
    docs=__doc__ or "",
    words=(("prepare_model_for_kbit_training", "prepare_model_for_int8_training"),),
    bears=("bits",),
    certainty=("fails", "fragile"),
    oracles=("recompute",),
    reproduction=Reproduction("bad_not_quantised.py", "good_checkpointed.py", intent=("dtypes", "modes", "trained")),
)


@rule.on(RunEnded)
def not_quantised(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a model prepared that is certainly not quantised?"""
    for prepared in run.of_type(LibraryCall):
        call = prepared.call
        if call is None or call.last not in rule.words[0] or not prepared.name.startswith("peft."):
            continue
        held = call.get("model", 0).possible(prepared.guard)
        found = ((guard, item) for guard, item in held if isinstance(item, Object) and is_plain(item))
        for guard, model in found:
            off = not model.known("checkpointing").objects()
            half = _is_half(model, run)
            done = [each for each, holds in ((CONVERTS, half is not False), (STAYS_OFF, off)) if holds]
            if not done:
                continue
            yield rule.finding(
                run,
                prepared.site,
                f"this model is not quantised: preparing it {', and '.join(each for each, _ in done)}",
                guard=prepared.guard | guard,
                certainty="fails" if half or off else "fragile",
                symptom=f"silent: {', '.join(effect for _, effect in done)}",
                versions=("peft", "transformers") if half is None else ("peft",),
                related=[(model.site, "the model is made here")] if model.site is not None else [],
            )
            break


def _is_half(model: Object, run: Run) -> bool | None:
    """Whether parameters of the model are in half precision; None where what was saved decides."""
    dtype = model.known("dtype")
    told = dtype.constant()
    if isinstance(told, str) and told != "auto":
        return told not in FULL
    if model.known("pretrained").constant() is False and told is None:
        return False
    version = run.targets.version("transformers")
    return False if told is None and version is not None and version < AS_SAVED else None
