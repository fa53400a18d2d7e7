"""# bf16-weights-small-step (GCL608)

## What it does
Finds full fine-tuning of bfloat16 weights with a small learning rate.

## Why it breaks
bfloat16 has 8 bits of precision: a step of 1e-5 on a weight of 0.02 is less than half the distance to the next
number, and is rounded away. Most weights never move; nothing is raised, and the loss falls a little.

## Example
```python
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
```

## Use instead
```python
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float32)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
```
with `torch.autocast("cuda", dtype=torch.bfloat16)`, or `TrainingArguments(bf16=True)`.

## When it is fine
Adapters, which are float32; optimizers with float32 master weights or stochastic rounding; DeepSpeed, and FSDP
through accelerate, which keep their own copies.

## Evidence
torch 2.13.0, AdamW at 1e-5: 14.5 % of bfloat16 weights move in a step, 99.3 % of float32 ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.torch_modules import trainable
from gclint.frameworks.transformers_trainer import argument
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Converted, LibraryCall, OptimizerStep, TrainerStarted
from gclint.run.guards import DEEPSPEED, FSDP, Guard
from gclint.run.parallel import inside, models_of
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, Object, root

from ..words import STEPS

LIMIT = 5e-5
PLUGINS = ("fsdp_plugin", "deepspeed_plugin", "parallelism_config")
OPTIMIZERS = ("AdamW", "Adam", "SGD", "AdamW8bit", "PagedAdamW8bit", "PagedAdamW32bit", "PagedAdamW", "Adam8bit")

rule = Rule(
    code="GCL608",
    name="bf16-weights-small-step",
    docs=__doc__ or "",
    words=(("bfloat16",), STEPS, ("lr", "learning_rate", "TrainingArguments", "SFTConfig")),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("changed",),
    reproduction=Reproduction(
        "bad_small_step.py",
        "bad_small_step.fixed.py",
        raises="AssertionError: of one tensor only 0.0% of the weights ever move",
        intent=("dtypes", "updates"),
    ),
)


@rule.on(OptimizerStep)
def small_steps(event: OptimizerStep, run: Run) -> Iterator[Finding]:
    """Does a small learning rate move bfloat16 weights?"""
    if not event.optimizer.is_a(*OPTIMIZERS):
        return
    rate = event.optimizer.attributes.get("lr", NOTHING).constant()
    place = event.optimizer.site
    for model in models_of(event.optimizer.attributes.get("params", NOTHING)):
        if place is not None:
            yield from _rounded_away(run, model, event.guard, rate, place)


@rule.on(TrainerStarted)
def trainer_steps(event: TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a trainer's small learning rate move bfloat16 weights?"""
    for args in event.trainer.attributes.get("args", NOTHING).objects():
        given = args.sites.get("learning_rate")
        if given is None or argument(args, "deepspeed").constant() is not None or argument(args, "deepspeed").objects():
            continue
        for model in event.models:
            yield from _rounded_away(run, model, event.guard, argument(args, "learning_rate").constant(), given)


def _rounded_away(run: Run, model: Object, guard: Guard, rate: object, place: Site) -> Iterator[Finding]:
    if not isinstance(rate, float) or not 0 < rate <= LIMIT or trainable(model) != "all" or _sharded(run):
        return
    for held, (dtype,) in ways(guard, model.known("dtype")):
        if dtype != Const("bfloat16"):
            continue
        converted = [item for item in run.of_type(Converted) if root(inside(item.module)) is model and item.dtype]
        site = converted[-1].site if converted else model.site
        if site is None:
            return
        yield rule.finding(
            run,
            site,
            f"bfloat16 weights take steps of {rate:g}: most of them are rounded away",
            guard=held,
            certainty="fragile",
            symptom="silent: most weights never move",
            related=[(place, "the learning rate")],
            fixes=(None if converted else _full(site),),
            versions=("torch", "transformers"),
        )
        return


def _sharded(run: Run) -> bool:
    """Whether accelerate shards the model: it then keeps float32 weights where mixed precision is asked for."""
    return not run.assumed.isdisjoint(((FSDP, True), (DEEPSPEED, True))) or any(
        event.call is not None
        and event.name.startswith("accelerate")
        and (
            event.call.last == "FullyShardedDataParallelPlugin" or any(name in event.call.keywords for name in PLUGINS)
        )
        for event in run.of_type(LibraryCall)
    )


def _full(site: Site) -> Fix | None:
    """Keep the weights in float32."""
    for name in ("torch_dtype", "dtype"):
        held = rewrite.argument(site, name)
        if held is None:
            continue
        text = '"float32"' if site.module.code(held.value)[:1] in "'\"" else "torch.float32"
        edit = rewrite.replace(Site.at(site.module, held.value), text)
        return Fix(
            "float32-weights",
            "Keep the weights in float32 and compute in bfloat16 by autocast",
            (edit,),
            "unsafe",
            "weights, gradients and optimizer state take twice the memory",
            intent=("dtypes", "updates"),
        )
    return None
