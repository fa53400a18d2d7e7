"""# half-weights-adam-eps (GCL610)

## What it does
Finds Adam and AdamW with an eps that float16 cannot hold, on a model with float16 weights.

## Why it breaks
Adam keeps its averages in the dtype of the weights and divides by the root of the squared gradients plus eps. In
float16 squares of gradients below 2e-4 are 0, and so is the default eps of 1e-8: the division is by 0, and weights are
NaN after the first steps.

## Example
```python
model.half()
optimizer = torch.optim.AdamW(model.parameters())
```

## Use instead
float32 weights with autocast and a gradient scaler, bfloat16 weights, or `eps=1e-4`.

## When it is fine
bfloat16; an eps of 1e-7 or more; `fused=True`, which computes in float32; adapters in float32 on a float16 base.

## Evidence
torch 2.13.0: 8 of 64 weights are NaN after the first step, all after the second.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.frameworks.torch_modules import trainable
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, OptimizerBuilt, OptimizerStep
from gclint.run.guards import conj
from gclint.run.parallel import inside, owned
from gclint.run.run import Run, ways
from gclint.run.values import FALSE, Const, Object, const, root

from ..words import STEP

SMALLEST = 6e-8
CHANGES: tuple[Aspect, ...] = ("updates", "loss")

rule = Rule(
    code="GCL610",
    name="half-weights-adam-eps",
    docs=__doc__ or "",
    words=(("Adam",), ("half", "float16", "fp16"), STEP),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("finite",),
    reproduction=Reproduction(
        "bad_half.py", "bad_half.fixed.py", raises="AssertionError: weights are NaN", intent=CHANGES
    ),
)


@rule.on(OptimizerStep)
def divides_by_zero(event: OptimizerStep, run: Run) -> Iterator[Finding]:
    """Does Adam step on float16 weights with an eps that is 0 in float16?"""
    optimizer = event.optimizer
    if event.scaler is not None or optimizer.site is None or optimizer.class_name not in ("Adam", "AdamW"):
        return
    if not str(optimizer.type).startswith("torch.") or _is_on(optimizer, "fused") or _scales(optimizer, run):
        return
    for built in run.of_type(OptimizerBuilt):
        if built.optimizer is not optimizer:
            continue
        for held, model in owned(built.parameters):
            model = root(inside(model))
            around = conj(event.guard, held)
            if around is None or trainable(model) == "none" or model.known("adapter"):
                continue
            for guard, (dtype, eps) in ways(around, model.known("dtype"), optimizer.attributes.get("eps", const(1e-8))):
                if dtype != Const("float16") or not isinstance(eps, Const) or not _is_lost(eps.value):
                    continue
                yield rule.finding(
                    run,
                    optimizer.site,
                    "Adam's eps is 0 in float16, and so are squares of small gradients: it divides by 0",
                    guard=guard,
                    symptom="silent: weights are NaN after the first steps",
                    related=[(model.sites.get("moved", model.site), "its weights are float16")] if model.site else [],
                    fixes=(_larger(optimizer),),
                )
                return


def _scales(optimizer: Object, run: Run) -> bool:
    """Whether accelerate steps it: where that scales it refuses gradients of float16 (accelerate/optimizer.py)."""
    prepares = (each for each in run.of_type(LibraryCall) if each.name.startswith("accelerator.prepare"))
    return any(
        optimizer in value.objects() for each in prepares if each.call is not None for value in each.call.positional
    )


def _is_on(optimizer: Object, name: str) -> bool:
    return optimizer.attributes.get(name, FALSE).constant() is not False


def _is_lost(eps: object) -> bool:
    return isinstance(eps, (int, float)) and eps < SMALLEST / 2


def _larger(optimizer: Object) -> Fix | None:
    assert optimizer.site is not None
    edit = rewrite.set_argument(optimizer.site, "eps", "1e-4", open_=optimizer.open)
    return Fix("eps", "Give it an eps that float16 holds", (edit,), "unsafe", intent=CHANGES) if edit else None
