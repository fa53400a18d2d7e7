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
transformers 4.57.6 and 5.23.0: mixtral, qwen2_moe, qwen3_moe, olmoe, gpt_oss, granitemoe.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.analysis import cures
from gclint.analysis.events import AttributeSet, Backward, LibraryCall, TrainerStarted
from gclint.analysis.parallel import trained
from gclint.analysis.run import Run, ways
from gclint.analysis.syntax import Site
from gclint.analysis.values import NOTHING, Const, Object
from gclint.finding import Finding
from gclint.rule import Reproduction, Rule

from ..words import TRAINS, TURNS_ON

NAME = "output_router_logits"

rule = Rule(
    code="GCL606",
    name="router-loss-without-grad",
    docs=__doc__ or "",
    words=(("output_router_logits",), TRAINS, TURNS_ON),
    certainty=("fails",),
    fixable="safe",
    reproduction=Reproduction("bad_mixtral.py", "bad_mixtral.fixed.py"),
)


@rule.on(Backward, TrainerStarted)
def auxiliary_loss(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a model train with router logits behind reentrant checkpointing?"""
    asked = _asked(run)
    for model in trained(event) if asked is not None else []:
        if model.known("trainable").constant() not in ("all", "some", None):
            continue
        for guard, (region,) in ways(event.guard, model.known("checkpointing")):
            if not isinstance(region, Object) or region.site is None or region.type == "call":
                continue
            for held, (mode,) in ways(guard, region.attributes.get("reentrant", NOTHING)):
                if mode != Const(True):
                    continue
                yield rule.finding(
                    run,
                    region.site,
                    "router logits leave reentrant regions without gradient: the load-balancing loss trains nothing",
                    guard=held,
                    symptom="silent: the auxiliary loss has no gradient",
                    related=[(asked, "router logits are asked for here")] if asked is not None else [],
                    fixes=(cures.non_reentrant(region),),
                    versions=("transformers",),
                )
                return


def _asked(run: Run) -> Site | None:
    """Where the run asks for router logits; None when nothing does for certain."""
    for event in run.events:
        if isinstance(event, LibraryCall) and event.call is not None:
            if event.call.keywords.get(NAME, NOTHING).constant() is True:
                return event.call.place(NAME)
        elif isinstance(event, AttributeSet) and event.name == NAME and event.value.constant() is True:
            return event.site
    return None
