"""# selective-checkpoint-autocast (GCL516)

## What it does
Finds selective checkpointing under autocast of a layer that is used in two regions.

## Why it breaks
Autocast casts a weight once and keeps the copy. The first region computes the cast, the second one finds it
in the cache; recomputed, each region casts for itself, and the operations that selective checkpointing
saved no longer match: `RuntimeError: aten._to_copy.default encountered during backward but not found in
storage`.

## Example
```python
with torch.autocast("cuda", dtype=torch.bfloat16):
    x = checkpoint(shared, x, use_reentrant=False, context_fn=selective)
    x = checkpoint(shared, x, use_reentrant=False, context_fn=selective)
```

## Use instead
```python
with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
    ...
```

## When it is fine
Every layer is used in one region; no `context_fn`; `cache_enabled=False`.

## Evidence
torch 2.13.0, CPU, bfloat16: fails with the cache, passes without; 2.6.0 and 2.9.1 pass with it.
pytorch/pytorch#193338.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.frameworks.torch_modules import PARAMETRIC
from gclint.ir.syntax import LOOPS, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import body_of, contains, enclosing_function
from gclint.run.events import CheckpointCall, ModuleCalled, RunEnded
from gclint.run.regions import region_of, without_gradients
from gclint.run.run import Run
from gclint.run.values import Alternative, Const, External, Function, Object, Partial

SELECTIVE = "create_selective_checkpoint_contexts"
SYMPTOM = "RuntimeError: aten._to_copy.default encountered during backward but not found in storage"

rule = Rule(
    code="GCL516",
    name="selective-checkpoint-autocast",
    docs=__doc__ or "",
    words=((SELECTIVE,), ("autocast",)),
    certainty=("fails", "fragile"),
    fixable="safe",
    holds="torch >= 2.13",
    reproduction=Reproduction(
        "bad_shared_layer.py",
        "bad_shared_layer.fixed.py",
        raises="RuntimeError: aten._to_copy.default encountered during backward but not found in storage",
    ),
)


@rule.on(RunEnded)
def shared_weight(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a weight used in two selective regions of one autocast block that caches casts?"""
    version = run.targets.version("torch")
    if version is not None and version < Version("2.13"):
        return
    used: dict[tuple[Object, Object], list[CheckpointCall]] = {}
    for called in run.of_type(ModuleCalled):
        region = region_of(called, run)
        if called.module.class_name not in PARAMETRIC or _one_of_many(called.module) or region is None:
            continue
        cast = region.moment.inside("autocast")
        if cast is None or without_gradients(region) or not _is_selective(region) or not _caches(cast):
            continue
        used.setdefault((called.module, cast), []).append(region)
    done = set()
    for (layer, cast), regions in used.items():
        places = list(dict.fromkeys(region.site for region in regions))
        if (
            not (len(regions) > 1 or (regions[0].moment.vague and _in_loop(regions[0])))
            or cast.site is None
            or cast.site in done
        ):
            continue
        done.add(cast.site)
        edit = rewrite.set_argument(cast.site, "cache_enabled", "False")
        fix = (
            Fix("no-cast-cache", "Let autocast cast anew in every region", (edit,), "safe", "casts are repeated")
            if edit is not None
            else None
        )
        related: list[tuple[Site, str]] = [(place, "used in this region") for place in places]
        guard = regions[-1].guard
        yield rule.finding(
            run,
            cast.site,
            f"`{layer.text}` is used in two selective regions, and only the first one casts its weight",
            guard=guard,
            certainty="fragile" if run.open_guard(guard) else "fails",
            symptom=SYMPTOM,
            related=related,
            fixes=(fix,),
        )


def _one_of_many(module: Object) -> bool:
    """Whether a layer stands for the elements of a collection, or is a part of such a one."""
    held: Object | None = module
    while held is not None:
        if held.each:
            return True
        held = held.parent
    return False


def _is_selective(region: CheckpointCall) -> bool:
    given = region.call.get("context_fn") if region.call is not None else None
    return given is not None and any(_makes_contexts(item) for _, item in given)


def _makes_contexts(item: Alternative) -> bool:
    while isinstance(item, Partial):
        item = item.function
    if isinstance(item, Function):
        return any(SELECTIVE in item.module.code(part) for part in body_of(item.node))
    return isinstance(item, External) and item.name.endswith(SELECTIVE)


def _caches(cast: Object) -> bool:
    held = cast.attributes.get("cache_enabled")
    off = cast.attributes.get("enabled")
    return all(value is None or value.only() != Const(False) for value in (held, off))


def _in_loop(region: CheckpointCall) -> bool:
    """Whether the call itself runs more than once in its autocast block."""
    module = region.site.module
    scope = enclosing_function(module, region.site.node)
    return any(
        isinstance(loop, LOOPS)
        and contains(scope, loop, module)
        and scope is not module.tree
        and contains(loop, region.site.node, module)
        for loop in (each.node for each in region.moment.loops)
    )
