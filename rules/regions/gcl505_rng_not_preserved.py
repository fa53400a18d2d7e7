"""# rng-not-preserved (GCL505)

## What it does
Finds `preserve_rng_state=False` on a checkpointed region that draws random numbers, dropout mostly.

## Why it breaks
The region is computed again in backward with other random numbers, so the activations do not belong to the
output: gradients are wrong, without an error.

## Example
```python
x = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)  # block holds nn.Dropout(0.1)
```

## Use instead
```python
x = checkpoint(block, x, use_reentrant=False)
```

## When it is fine
Nothing inside draws random numbers, dropout of 0 among that; evaluation.

## Evidence
torch 2.13.0: gradients off by 17 to 50 % at p=0.3, in both variants. allenai/OLMo#702.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, CheckpointCall, LibraryCall, ModuleCalled, RunEnded, TrainerStarted
from gclint.run.guards import Guard
from gclint.run.regions import is_false, region_of, without_gradients
from gclint.run.run import Run, together
from gclint.run.values import NOTHING, Const, Object, Value, const

DRAWS = ("rand", "randn", "randint", "rand_like", "randn_like", "bernoulli", "multinomial", "randperm", "normal")
FUNCTIONAL = ("dropout", "dropout1d", "dropout2d", "alpha_dropout", "feature_alpha_dropout", "gumbel_softmax")

rule = Rule(
    code="GCL505",
    name="rng-not-preserved",
    docs=__doc__ or "",
    words=(("preserve_rng_state",),),
    certainty=("fails", "fragile"),
    fixable="safe",
    oracles=("gradients",),
    reproduction=Reproduction("bad_dropout.py", "bad_dropout.fixed.py"),
)


@rule.on(RunEnded)
def not_preserved(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a region that draws random numbers give up replaying them?"""
    done = set()
    for draw in run.of_type(ModuleCalled, LibraryCall):
        region = region_of(draw, run) if _draws(draw) else None
        if region is None or region.site in done or without_gradients(region):
            continue
        for off, place in _given_up(region, run):
            guard = together(region.guard, off)
            if guard is None:
                continue
            done.add(region.site)
            yield rule.finding(
                run,
                place,
                "random numbers inside the region are drawn anew in backward",
                guard=guard,
                certainty="fragile" if run.open_guard(guard) else "fails",
                symptom="silent: gradients are wrong",
                related=[(draw.site, "drawn here")],
                fixes=(_fix(region, place),),
            )
            break


@rule.on(Backward, TrainerStarted)
def options_of_a_library(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a library model with adapter dropout get the option among its checkpointing options?"""
    models = (
        list(event.models)
        if isinstance(event, TrainerStarted)
        else [item.attributes["of"].objects()[0] for item in event.forwards]
    )
    for model in dict.fromkeys(models):
        configs = [
            config
            for adapter in model.known("adapter").objects()
            for config in adapter.attributes.get("config", NOTHING).objects()
        ]
        if not any(_chance(config.attributes.get("lora_dropout", NOTHING)) for config in configs):
            continue
        for held, region in model.known("checkpointing"):
            options = region.attributes.get("kwargs", NOTHING).objects() if isinstance(region, Object) else []
            for option in options:
                place = option.sites.get("preserve_rng_state")
                for off in is_false((option.entries or {}).get("preserve_rng_state", NOTHING)):
                    guard = together(event.guard, held, off)
                    if guard is None or place is None:
                        continue
                    fix = Fix("preserve", "Let torch replay the random numbers", (rewrite.replace(place, "True"),))
                    yield rule.finding(
                        run,
                        place,
                        "the adapters' dropout is drawn anew in backward",
                        guard=guard,
                        certainty="fragile" if run.open_guard(guard) else "fails",
                        symptom="silent: gradients are wrong",
                        fixes=(fix,),
                        versions=("torch", "transformers"),
                    )


def _draws(event: ModuleCalled | LibraryCall) -> bool:
    if isinstance(event, ModuleCalled):
        return "Dropout" in event.module.class_name and _chance(event.module.attributes.get("p", const(0.5)))
    top, _, last = event.name.rpartition(".")
    if top == "torch":
        return last in DRAWS and (event.call is None or not event.call.gives("generator"))
    if top != "torch.nn.functional" or last not in FUNCTIONAL or event.call is None:
        return False
    return _chance(event.call.get("p", 1, const(0.5))) and not event.call.get("training", 2).is_const(False)


def _chance(value: Value) -> bool:
    """Whether a dropout probability is known, and not 0."""
    item = value.only()
    return isinstance(item, Const) and isinstance(item.value, (int, float)) and item.value > 0


def _given_up(region: CheckpointCall, run: Run) -> Iterator[tuple[Guard, Site]]:
    """The guards under which a region does not replay random numbers, and where that is said."""
    if region.call is not None:
        for guard in is_false(region.call.get("preserve_rng_state")):
            yield guard, region.site
        return
    wrappers: list[Object] = run.facts.get("wrapped_layers", [])
    for wrapper in wrappers:
        if wrapper.sites["wrapped"] == region.site:
            for guard in is_false(wrapper.attributes.get("preserve_rng_state", NOTHING)):
                yield guard, region.site


def _fix(region: CheckpointCall, site: Site) -> Fix | None:
    edits: list[Edit] = rewrite.remove_arguments(site, "preserve_rng_state")
    place = region.call.places.get("preserve_rng_state") if region.call is not None else None
    if rewrite.argument(site, "preserve_rng_state") is None:
        edits = [rewrite.replace(place, "True")] if place is not None else []
    if not edits:
        return None
    return Fix("preserve", "Let torch replay the random numbers", tuple(edits), "safe", "a copy of the RNG state")
