"""# fsdp-mixed-requires-grad (GCL214)

## What it does
Finds FullyShardedDataParallel around a partly frozen model without `use_orig_params=True`.

## Why it breaks
FSDP flattens the parameters of a unit into one tensor, which trains or does not. Frozen and trainable parameters in
one unit: `ValueError: Must flatten tensors with uniform requires_grad when use_orig_params=False`.

## Example
```python
model = FullyShardedDataParallel(get_peft_model(model, lora))
```

## Use instead
```python
model = FullyShardedDataParallel(get_peft_model(model, lora), use_orig_params=True)
```

## When it is fine
`use_orig_params=True`; `fully_shard`; a wrap policy that keeps frozen and trainable parameters apart; nothing frozen.

## Evidence
torch 2.13.0, two gloo ranks: ValueError when it wraps. fairscale 0.4.13, whose wrapper takes `flatten_parameters=False`
instead: AssertionError when it wraps.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.torch_modules import trainable
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import TrainableChanged, Wrapped
from gclint.run.run import Run
from gclint.run.values import Const

SYMPTOMS = {
    "use_orig_params": "ValueError: Must flatten tensors with uniform requires_grad when use_orig_params=False",
    "flatten_parameters": "AssertionError: expects all parameters to have same requires_grad",
}
POLICIES = ("auto_wrap_policy", "ignored_modules", "ignored_states")

rule = Rule(
    code="GCL214",
    name="fsdp-mixed-requires-grad",
    docs=__doc__ or "",
    words=(("FullyShardedDataParallel",), ("requires_grad", "requires_grad_", "get_peft_model")),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_frozen_part.py",
        "bad_frozen_part.fixed.py",
        processes=2,
        raises="ValueError: Must flatten tensors with uniform `requires_grad` when",
    ),
)


@rule.on(Wrapped)
def mixed_unit(event: Wrapped, run: Run) -> Iterator[Finding]:
    """Does one FSDP unit hold frozen and trainable parameters?"""
    wrapper, mixed = event.wrapper, trainable(event.model) in ("some", "adapters")
    flag = wrapper.known("use_orig_params").only()
    if wrapper.kind != "fsdp" or not mixed or wrapper.open or flag != Const(False):
        return
    if any(name in wrapper.attributes for name in POLICIES):
        return
    frozen = [item for item in run.of_type(TrainableChanged) if item.after in ("none", "some")]
    adapters = event.model.known("adapter").objects()
    setting = str(wrapper.known("kept_apart_by").constant())
    name, _, value = setting.partition("=")
    place = wrapper.sites.get(name)
    edit = rewrite.replace(place, value) if place is not None else rewrite.set_argument(event.site, name, value)
    fix = Fix("orig-params", f"Keep the parameters apart ({setting})", (edit,), "unsafe") if edit else None
    related = [(frozen[-1].site, "a part is frozen here")] if frozen else []
    if adapters and adapters[0].site is not None:
        related = [(adapters[0].site, "all but the adapters is frozen here")]
    yield rule.finding(
        run,
        event.site,
        "one FSDP unit holds frozen and trainable parameters",
        guard=event.guard,
        related=related,
        symptom=SYMPTOMS[name],
        fixes=(fix,),
    )
