"""# clip-before-unscale (GCL802)

## What it does
Finds gradient clipping under a GradScaler without `unscale_` before it.

## Why it breaks
The gradients are still multiplied by the loss scale, 65536 at first: every norm is far above the limit, so clipping
makes the update tiny instead of bounding it, and by another factor whenever the scale changes.

## Example
```python
scaler.scale(loss).backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
```

## When it is fine
`GradScaler(enabled=False)`; `unscale_` before; gradients that no scaler scaled.

## Evidence
torch 2.13.0: the clipped update is smaller by the loss scale. milesial/Pytorch-UNet#468, pytorch/examples#1196.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import GradientsClipped, ScalerUsed
from gclint.run.guards import conj
from gclint.run.parallel import models_of
from gclint.run.run import Run
from gclint.run.stepping import argument_text, receiver_text, together
from gclint.run.values import NOTHING, Object

SYMPTOM = "silent: the clipped gradients are smaller than the limit by the loss scale"

rule = Rule(
    code="GCL802",
    name="clip-before-unscale",
    docs=__doc__ or "",
    words=(("clip_grad_norm_", "clip_grad_value_"), ("GradScaler",)),
    certainty=("fails",),
    fixable="safe",
    oracles=("clip",),
    reproduction=Reproduction("bad_clip.py", "bad_clip.fixed.py", intent=("gradients", "updates")),
)


@rule.on(ScalerUsed)
def clipped_scaled(event: ScalerUsed, run: Run) -> Iterator[Finding]:
    """Are gradients clipped between a scaled backward and this step, and not unscaled before?"""
    if event.operation != "step":
        return
    before = _since_last_step(run, event)
    scaled = [at for at, item in enumerate(before) if isinstance(item, ScalerUsed) and item.operation == "scale"]
    if not scaled:
        return
    for at, clip in enumerate(before):
        if not isinstance(clip, GradientsClipped) or clip.call is None or at < scaled[0] or not _ours(clip, event):
            continue
        both = conj(clip.guard, event.guard)
        unscaled = any(
            isinstance(item, ScalerUsed) and item.operation == "unscale_" and together(item, clip)
            for item in before[:at]
        )
        if both is None or unscaled or not any(together(before[start], clip) for start in scaled):
            continue
        yield rule.finding(
            run,
            clip.site,
            "gradients are clipped while they are still multiplied by the loss scale",
            guard=both,
            symptom=SYMPTOM,
            fixes=(_unscaled(clip, event),),
            related=[(before[scaled[0]].site, "the loss is scaled here"), (event.site, "the step that unscales")],
        )
        return


def _since_last_step(run: Run, step: ScalerUsed) -> list[ScalerUsed | GradientsClipped]:
    found: list[ScalerUsed | GradientsClipped] = []
    for item in run.events:
        if item is step:
            return found
        if isinstance(item, ScalerUsed) and item.scaler is not step.scaler and not _unscales(item, step):
            continue
        if isinstance(item, ScalerUsed) and item.operation == "update" and together(item, step):
            found = []
        elif isinstance(item, (ScalerUsed, GradientsClipped)):
            found.append(item)
    return found


def _unscales(item: ScalerUsed, step: ScalerUsed) -> bool:
    """Whether another scaler unscales the gradients of the step's optimizer."""
    return item.operation == "unscale_" and not set(item.given.objects()).isdisjoint(step.given.objects())


def _ours(clip: GradientsClipped, step: ScalerUsed) -> bool:
    """Whether the clipped parameters may be those of the step's optimizer."""
    clipped = set(models_of(clip.parameters))
    stepped: set[Object] = set()
    for item in step.given.objects():
        stepped |= set(models_of(item.attributes.get("params", NOTHING)))
    return not clipped or not stepped or bool(clipped & stepped)


def _unscaled(clip: GradientsClipped, step: ScalerUsed) -> Fix | None:
    scaler, optimizer = receiver_text(step.site), argument_text(step.site)
    if not scaler or not optimizer or clip.site.module is not step.site.module:
        return None
    edit = rewrite.insert_before(clip.site, f"{scaler}.unscale_({optimizer})")
    return (
        Fix("unscale-first", "Unscale the gradients before they are clipped", (edit,), intent=("gradients", "updates"))
        if edit is not None
        else None
    )
