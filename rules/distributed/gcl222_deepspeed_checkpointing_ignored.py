"""# deepspeed-checkpointing-ignored (GCL222)

## What it does
Finds `activation_checkpointing` in a DeepSpeed configuration of a run that calls none of DeepSpeed's checkpointing.

## Why it breaks
The section only configures `deepspeed.checkpointing.checkpoint`, which a model has to call. transformers' models do
not: nothing is checkpointed, and the run takes the memory of one without.

## Example
```python
config = {"zero_optimization": {"stage": 2}, "activation_checkpointing": {"partition_activations": True}}
args = TrainingArguments("out", deepspeed=config)
```

## Use instead
```python
args = TrainingArguments("out", deepspeed=config, gradient_checkpointing=True)
```

## When it is fine
A model that calls `deepspeed.checkpointing.checkpoint`; checkpointing turned on besides.

## Evidence
deepspeed 0.18.2 to 0.19.8 with transformers 5.23.0: no region is recomputed.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import CheckpointCall, RunEnded, TrainerStarted, Wrapped
from gclint.run.guards import Guard
from gclint.run.run import Run, ways
from gclint.run.values import FALSE, NOTHING, Class, Object

SECTION = "activation_checkpointing"

rule = Rule(
    code="GCL222",
    name="deepspeed-checkpointing-ignored",
    docs=__doc__ or "",
    words=(
        ("import deepspeed", "from deepspeed", "TrainingArguments", "Config("),
        ("deepspeed",),
        ("initialize", "Trainer"),
    ),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("recompute",),
    reproduction=Reproduction("bad_two_ranks.py", "good_two_ranks.py", processes=2, needs="deepspeed"),
)


@rule.on(RunEnded)
def never_called(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a section configured that nothing in the run reads?"""
    if not event.whole or "deepspeed_checkpointing" in run.facts or run.of_type(CheckpointCall):
        return
    for started in run.of_type(TrainerStarted, Wrapped):
        if isinstance(started, TrainerStarted):
            args = started.trainer.attributes.get("args", NOTHING).objects()
            place = next((item.sites["deepspeed"] for item in args if "deepspeed" in item.sites), None)
            site = next((item.site for item in args), None)
            for model in started.models:
                yield from _ignored(run, model, started.guard, place, site)
        elif started.wrapper.kind == "engine":
            yield from _ignored(run, started.model, started.guard, started.site, None)


def _ignored(run: Run, model: Object, guard: Guard, place: Site | None, args: Site | None) -> Iterator[Finding]:
    if isinstance(model.type, Class) or model.kind != "model":
        return
    for held, (config, region) in ways(guard, model.known("deepspeed"), model.known("checkpointing") or FALSE):
        if not isinstance(config, Object) or isinstance(region, Object) or SECTION not in (config.entries or {}):
            continue
        site = config.sites.get(SECTION) or place
        if site is None:
            continue
        edit = rewrite.set_argument(args, "gradient_checkpointing", "True") if args is not None else None
        fix = Fix("turn-on", "Turn gradient checkpointing on", (edit,), "unsafe") if edit is not None else None
        yield rule.finding(
            run,
            site,
            f"DeepSpeed's `{SECTION}` is configured, and no model of this run calls it",
            guard=held,
            symptom="silent: nothing is checkpointed",
            fixes=(fix,),
            versions=("deepspeed", "transformers"),
            related=[(place, "the configuration is used here")] if place is not None and place is not site else [],
        )
        return
