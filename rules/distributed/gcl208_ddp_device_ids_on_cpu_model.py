"""# ddp-device-ids-on-cpu-model (GCL208)

## What it does
Finds DistributedDataParallel with `device_ids` around a model that was never moved to a device.

## Why it breaks
`device_ids` names the one GPU that holds the model. A model on the CPU is not there:
`ValueError: DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device
GPU modules or CPU modules`.

## Example
```python
model = Net()
model = DistributedDataParallel(model, device_ids=[rank])
```

## Use instead
```python
model = Net().to(rank)
model = DistributedDataParallel(model, device_ids=[rank])
```
or, on the CPU, no `device_ids`.

## When it is fine
Models moved before the wrap, loaded with a device map, or built under a default device.

## Evidence
torch 2.13.0, two gloo ranks: ValueError when it wraps.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.copies import COPY_OF
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Converted, LibraryCall, Wrapped
from gclint.run.parallel import inside
from gclint.run.run import Run
from gclint.run.values import Class, Const, Object, root

MOVES = ("to", "cuda", "xpu", "to_empty")

rule = Rule(
    code="GCL208",
    name="ddp-device-ids-on-cpu-model",
    docs=__doc__ or "",
    words=(("device_ids",), ("DistributedDataParallel",)),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_never_moved.py",
        "bad_never_moved.fixed.py",
        processes=2,
        raises="ValueError: DistributedDataParallel device_ids and output_device arguments",
    ),
)


@rule.on(Wrapped)
def wrapped_on_the_cpu(event: Wrapped, run: Run) -> Iterator[Finding]:
    """Is a model that nothing has moved wrapped for a device?"""
    given = event.wrapper.attributes.get("device_ids")
    held = _original(inside(event.model))
    model = root(held)
    if held.kind == "unknown" and held is not model:
        return  # what an attribute holds that nothing binds
    if event.wrapper.kind != "ddp" or given is None or event.wrapper.label or not _on_cpu(model, run):
        return
    if any(isinstance(item, Const) for _, item in given):
        return
    site = event.wrapper.sites.get("device_ids", event.site)
    edits = rewrite.remove_arguments(event.site, "device_ids", "output_device")
    fix = Fix("no-device-ids", "Wrap it as a CPU model", tuple(edits), "unsafe") if edits else None
    yield rule.finding(
        run,
        site,
        "DDP is told which device the model is on, but the model was never moved from the CPU",
        guard=event.guard,
        fixes=(fix,),
        symptom="ValueError: DistributedDataParallel device_ids and output_device arguments only work with "
        "single-device/multiple-device GPU modules or CPU modules",
        related=[(model.site, "the model is made here")] if model.site is not None else [],
    )


def _original(model: Object) -> Object:
    """What a model is a copy of: a copy is made where the original lies."""
    while isinstance(copied := model.known(COPY_OF).only(), Object) and copied is not model:
        model = copied
    return model


def _on_cpu(model: Object, run: Run) -> bool:
    """Whether the program itself made the model, and nothing it does can have moved it."""
    own = isinstance(model.type, Class) and model.kind == "module"
    if not (own or model.kind in ("layer", "modules")) or model.site is None:
        return False
    for event in run.events:
        if isinstance(event, Converted) and event.call is not None and event.call.last in MOVES:
            if root(inside(event.module)) is model:
                return False
        elif isinstance(event, LibraryCall) and event.call is not None:
            if event.name in ("torch.set_default_device", "torch.set_default_tensor_type", "torch.device"):
                return False
            if "device" in event.call.keywords and event.name.startswith("torch.nn."):
                return False
    return True
