"""# rocm-without-launch-blocking (GCL401)

## What it does
Finds a run on ROCm that trains with gradient checkpointing and does not set `HIP_LAUNCH_BLOCKING`.

## Why it breaks
On some ROCm cards the first backward through a recomputed region aborts in the HIP runtime: `hip_global.cpp:158 :
Module not initialized`. Reports end it with kernels launched one at a time (`HIP_LAUNCH_BLOCKING=1`, set before
torch is imported), or with checkpointing turned off. It depends on card and driver: the finding is *fragile*.

## Example
```python
import torch  # a ROCm build

model.gradient_checkpointing_enable()
trainer.train()
```

## Use instead
```python
import os

os.environ["HIP_LAUNCH_BLOCKING"] = "1"

import torch
```

## When it is fine
The variable is set by the launcher or the image; no checkpointing; no ROCm, or a program that asks whether it is on
ROCm and checkpoints either way.

## Evidence
Issues only, not run on a card: ROCm/pytorch#2241, unslothai/unsloth#3526, unslothai/unsloth PR 5964.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix, Location
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite, shared_fixes
from gclint.run.events import Backward, TrainerStarted
from gclint.run.guards import ROCM, Guard
from gclint.run.run import Run, together
from gclint.run.values import Object

from ..words import TRAINS, TURNS_ON

NAME = "HIP_LAUNCH_BLOCKING"
SYMPTOM = "hip_global.cpp:158 : Module not initialized, then abort, at the first backward"
TELLTALE = ("HIP_", "HSA_", "ROCM_", "AMD_")

rule = Rule(
    code="GCL401",
    name="rocm-without-launch-blocking",
    docs=__doc__ or "",
    words=(TRAINS, TURNS_ON, (*TELLTALE, "rocm", ".hip", "import hip", '"hip"', "'hip'")),
    certainty=("fragile",),
    fixable="safe",
    reproduction=Reproduction(needs="rocm"),
)


@rule.on(Backward, TrainerStarted)
def first_backward_on_rocm(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a model train with checkpointing on ROCm, with kernels launched asynchronously?"""
    evidence = rocm_evidence(run)
    if evidence is None or NAME in run.environment:
        return
    guard, places = evidence
    if isinstance(event, TrainerStarted):
        models = list(event.models)
    else:
        models = list(dict.fromkeys(item.attributes["of"].objects()[0] for item in event.forwards))
    for model in models:
        for held, region in model.known("checkpointing"):
            both = together(event.guard, guard, held)
            if both is None or not isinstance(region, Object) or region.site is None:
                continue
            if guard and together(event.guard, held, frozenset({(ROCM, False)})) is not None:
                continue  # what asks for ROCm is one of many programs, or something else in this one
            related = list(places)
            imported = run.first_import("torch")
            if imported is not None:
                related.append(imported.location("torch is imported here, the variable has to be set before"))
            yield rule.finding(
                run,
                region.site,
                f"gradient checkpointing on ROCm without {NAME}",
                guard=both,
                certainty="fragile",
                symptom=SYMPTOM,
                related=related,
                fixes=(set_before_import(run), shared_fixes.checkpointing_off(model)),
            )
            break


def rocm_evidence(run: Run) -> tuple[Guard, list[Location]] | None:
    """Why the run is on ROCm, with the guard under which it is; None when nothing says so."""
    place = run.targets.rocm_place
    if run.targets.rocm:
        return frozenset(), [
            Location(place.path, place.line, 1, place.line, 1, "ROCm builds are asked for here")
        ] if place is not None else []
    telling = [name for name in run.environment if name.startswith(TELLTALE)]
    if telling:
        site = run.environment_sites.get(telling[0])
        return frozenset(), [site.location(f"{telling[0]} is for ROCm")] if site is not None else []
    if run.facts.get("asks_rocm"):
        return frozenset({(ROCM, True)}), []
    return None


def set_before_import(run: Run) -> Fix | None:
    """Set the variable before the first import of torch in the program that is started."""
    site = run.first_import("torch")
    if site is None or site.module is not run.entry:
        return None
    edit = rewrite.before_import(site, f'os.environ["{NAME}"] = "1"')
    if edit is None:
        return None
    return Fix(
        "launch-blocking", f"Set {NAME}=1 before torch is imported", (edit,), "safe", "kernels run one at a time"
    )
