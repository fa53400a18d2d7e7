"""# router-loss-without-grad (GCL606)

## What it does
Finds mixture-of-experts models that train with `output_router_logits` behind reentrant checkpointing.

## Why it breaks
The router logits leave the checkpointed layers by the side, not as their output. Reentrant checkpointing runs the
layer without recording: the logits carry no gradient, so the load-balancing loss is added, is logged, and trains
nothing.

## Example
```python
model = AutoModelForCausalLM.from_pretrained("mistralai/Mixtral-8x7B-v0.1", output_router_logits=True)
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
```

## Use instead
```python
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
```

## When it is fine
Non-reentrant checkpointing; adapters with a frozen router; router logits for evaluation only.

## Evidence
transformers 4.44.2: the gradients are right, the logits are outputs of the layers; since 4.54 hooks record them
(`OutputRecorder` in models/mixtral/modeling_mixtral.py). transformers 4.57.6 and 5.23.0: mixtral, qwen2_moe,
qwen3_moe, olmoe, gpt_oss, granitemoe.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import shared_fixes
from gclint.run.events import AttributeSet, Backward, LibraryCall, TrainerStarted
from gclint.run.guards import Guard
from gclint.run.parallel import trained
from gclint.run.run import Run, together, ways
from gclint.run.values import NOTHING, Const, Object

from ..words import TRAINS, TURNS_ON

NAME = "output_router_logits"

rule = Rule(
    code="GCL606",
    name="router-loss-without-grad",
    docs=__doc__ or "",
    words=(TRAINS, ("output_router_logits",), TURNS_ON),
    certainty=("fails",),
    fixable="safe",
    holds="transformers >= 4.54",
    oracles=("gradients",),
    reproduction=Reproduction("bad_mixtral.py", "bad_mixtral.fixed.py"),
)


@rule.on(Backward, TrainerStarted)
def auxiliary_loss(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a model train with router logits behind reentrant checkpointing?"""
    version = run.targets.version("transformers")
    if version is not None and version < Version("4.54"):
        return  # the logits are outputs of the layers there
    for model in trained(event):
        if model.known("trainable").constant() not in ("all", "some", None):
            continue
        reentrant = list(_reentrant(event.guard, model))
        for asked, place in _asked(run, model) if reentrant else ():
            for guard, region, site in reentrant:
                held = together(guard, asked)
                if held is not None:
                    yield _finding(run, region, site, place, held)
                    return


def _reentrant(guard: Guard, model: Object) -> Iterator[tuple[Guard, Object, Site]]:
    """The model's reentrant checkpointing, with the guard under which it holds."""
    for held, (region,) in ways(guard, model.known("checkpointing")):
        if isinstance(region, Object) and region.site is not None and region.type != "call":
            modes = ways(held, region.attributes.get("reentrant", NOTHING))
            yield from ((certain, region, region.site) for certain, (mode,) in modes if mode == Const(True))


def _finding(run: Run, region: Object, site: Site, asked: Site, guard: Guard) -> Finding:
    return rule.finding(
        run,
        site,
        "router logits leave reentrant regions without gradient: the load-balancing loss trains nothing",
        guard=guard,
        symptom="silent: the auxiliary loss has no gradient",
        related=[(asked, "router logits are asked for here")],
        fixes=(shared_fixes.non_reentrant(region),),
        versions=("transformers",),
    )


def _asked(run: Run, model: Object) -> Iterator[tuple[Guard, Site]]:
    """Where the run asks this model for router logits: in a call that makes it or its configuration, or in that."""
    events = [event for event in run.of_type(LibraryCall, AttributeSet) if _asks(event)]
    configs = _configs(run, model) if events else []
    for event in events:
        if isinstance(event, AttributeSet):
            holders = [event.target, event.target.parent] if event.target is not None else []
            if any(holder in configs for holder in holders):
                yield event.guard, event.site
        elif event.call is not None:
            made = [item for item in event.result.objects() if item.kind in ("model", "config")]
            if not made or any(item is model or item in configs for item in made):
                yield event.guard, event.call.place(NAME)


def _asks(event: LibraryCall | AttributeSet) -> bool:
    if isinstance(event, AttributeSet):
        return event.name == NAME and event.value.constant() is True
    return event.call is not None and NAME in event.call.keywords and event.call.keywords[NAME].constant() is True


def _configs(run: Run, model: Object) -> list[Object]:
    """The objects that can hold a model's configuration: its own, and what it was made of."""
    made = [event.call for event in run.of_type(LibraryCall) if event.call and model in event.result.objects()]
    given = [value for call in made for value in call.inputs()]
    return [item for value in (model.attributes.get("config", NOTHING), *given) for item in value.objects()]
