"""# fp16-weights-with-scaler (GCL607)

## What it does
Finds models whose trainable weights are float16 while a gradient scaler works on them.

## Why it breaks
A scaler divides float32 gradients. Float16 weights have float16 gradients, and it refuses:
`ValueError: Attempting to unscale FP16 gradients.`

## Example
```python
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)
Trainer(model, TrainingArguments("out", fp16=True), train_dataset=data).train()
```

## Use instead
```python
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float32)
Trainer(model, TrainingArguments("out", fp16=True), train_dataset=data).train()
```

## When it is fine
Adapters on a float16 base, from peft 0.12 on: they are float32; bfloat16; `GradScaler(enabled=False)`.

## Evidence
torch 2.13.0; transformers 4.57.6 and 5.23.0: ValueError in the first step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.frameworks.peft import is_quantised
from gclint.frameworks.torch_modules import trainable
from gclint.frameworks.transformers_trainer import argument
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Adapted, Converted, ScalerUsed, TrainerStarted
from gclint.run.guards import Guard
from gclint.run.parallel import inside, models_of
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, Object, root

from ..words import STEPS

UNSCALED = ("torch.", "transformers.", "bitsandbytes.")  # optimizers of these never do

rule = Rule(
    code="GCL607",
    name="fp16-weights-with-scaler",
    docs=__doc__ or "",
    words=(("GradScaler", "fp16", "mixed_precision"), ("half", "float16"), (*STEPS, "unscale_")),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_half.py",
        "bad_half.fixed.py",
        raises="ValueError: Attempting to unscale FP16 gradients.",
        intent=("dtypes",),
    ),
)


@rule.on(ScalerUsed)
def scaler_on_half(event: ScalerUsed, run: Run) -> Iterator[Finding]:
    """Does a scaler unscale gradients of float16 weights?"""
    if event.operation not in ("step", "unscale_"):
        return
    for optimizer in event.given.objects():
        if event.operation == "step" and _may_take_scaled_gradients(optimizer):
            continue
        for model in models_of(optimizer.attributes.get("params", NOTHING)):
            yield from _half(run, model, event.guard, event.site, "the scaler unscales their gradients here")


def _may_take_scaled_gradients(optimizer: Object) -> bool:
    """Whether an optimizer may unscale by itself, as those of other libraries may that say so
    (`_step_supports_amp_scaling` in torch/amp/grad_scaler.py).
    """
    return isinstance(optimizer.type, str) and not optimizer.type.startswith(UNSCALED)


@rule.on(TrainerStarted)
def trainer_on_half(event: TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a trainer with fp16=True get a float16 model?"""
    for args in event.trainer.attributes.get("args", NOTHING).objects():
        for guard, (flag,) in ways(event.guard, argument(args, "fp16")):
            place = args.sites.get("fp16")
            if flag == Const(True) and place is not None and not _handles_precision(args):
                for model in event.models:
                    yield from _half(run, model, guard, place, "fp16 brings a gradient scaler")


def _handles_precision(args: Object) -> bool:
    """Whether DeepSpeed, which has its own loss scaling, runs the loop."""
    return argument(args, "deepspeed").constant() is not None or bool(argument(args, "deepspeed").objects())


def _half(run: Run, model: Object, guard: Guard, used: Site, what: str) -> Iterator[Finding]:
    conversions = [item for item in run.of_type(Converted) if root(inside(item.module)) is model and _halved(item)]
    adapted = [item for item in run.of_type(Adapted) if root(inside(item.model)) is model]
    if (trainable(model) == "adapters" or adapted) and not _as_its_base(run, model, adapted):
        conversions = [
            item for item in conversions if adapted and run.events.index(item) > run.events.index(adapted[0])
        ]
        if not conversions:
            return
    for held, (dtype,) in ways(guard, model.known("dtype")):
        if dtype != Const("float16"):
            continue
        place = conversions[-1].site if conversions else model.site
        if place is None:
            return
        yield rule.finding(
            run,
            place,
            "the weights that train are float16, and a gradient scaler does not unscale float16 gradients",
            guard=held,
            symptom="ValueError: Attempting to unscale FP16 gradients.",
            related=[(used, what)],
            fixes=(_full(place, bool(conversions)),),
            versions=("torch", "transformers"),
        )
        return


def _as_its_base(run: Run, model: Object, adapted: list[Adapted]) -> bool:
    """Whether adapters have the dtype of a base that is not quantised: they are float32 from peft 0.12 on."""
    version = run.targets.version("peft")
    old = version is not None and version < Version("0.12")
    return old and bool(adapted) and is_quantised(model) is False


def _halved(event: Converted) -> bool:
    return any(item == Const("float16") for _, item in event.dtype)


def _full(place: Site, converted: bool) -> Fix | None:
    """Keep the weights in float32; autocast computes in float16 all the same."""
    title, node = "Keep the weights in float32", rewrite.call_node(place)
    if node is None:
        return None
    cost = "weights and gradients take twice the memory"
    if not converted:
        for name in ("torch_dtype", "dtype"):
            held = rewrite.argument(place, name)
            if held is not None:
                text = '"float32"' if place.module.code(held.value)[:1] in "'\"" else "torch.float32"
                edit = rewrite.replace(Site.at(place.module, held.value), text)
                return Fix("float32-weights", title, (edit,), "unsafe", cost, intent=("dtypes",))
        return None
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "half":
        return None
    if isinstance(place.module.parents.get(node), ast.Expr):
        removed = rewrite.remove_statement(place)
        return (
            Fix("float32-weights", title, (removed,), "unsafe", cost, intent=("dtypes",))
            if removed is not None
            else None
        )
    edit = rewrite.replace(place, place.module.code(node.func.value))
    return Fix("float32-weights", title, (edit,), "unsafe", cost, intent=("dtypes",))
