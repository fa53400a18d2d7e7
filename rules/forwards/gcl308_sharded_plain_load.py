"""# sharded-plain-load (GCL308)

## What it does
Finds a plain `load_state_dict` into a model whose parameters are sharded by `fully_shard`, and deep copies
of sharded models.

## Why it breaks
The parameters are DTensors by then, and the tensors of a file are whole: `RuntimeError: Error(s) in loading
state_dict: While copying the parameter named ..., got mixed torch.Tensor and DTensor`. A deep copy raises
`AssertionError: FSDP does not support deepcopy`.

## Example
```python
fully_shard(model)
model.load_state_dict(torch.load(path))
```

## Use instead
```python
options = StateDictOptions(full_state_dict=True)
set_model_state_dict(model, torch.load(path), options=options)
```

## When it is fine
Weights are loaded before the model is sharded, or come from the sharded model's own state dict.

## Evidence
torch 2.13.0, two gloo ranks: RuntimeError at the first parameter; `set_model_state_dict` loads all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.layout import is_spread, value_of
from gclint.ir.syntax import arguments
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, StateDictLoaded
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.values import Const, Object, Value, root

MIXED = "RuntimeError: While copying the parameter, got mixed torch.Tensor and DTensor"
COPY = "AssertionError: FSDP does not support deepcopy. Please use state dict for serialization."
LINE = "from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict"

rule = Rule(
    code="GCL308",
    name="sharded-plain-load",
    docs=__doc__ or "",
    words=(("fully_shard", "FullyShardedDataParallel"), ("load_state_dict", "deepcopy")),
    bears=("processes",),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("keys",),
    reproduction=Reproduction(
        "bad_loaded_after.py",
        "bad_loaded_after.fixed.py",
        processes=2,
        needs="torch>=2.9",
        raises="RuntimeError: Error(s) in loading state_dict for FSDPNet:",
        intent=("loaded",),
    ),
)


@rule.on(StateDictLoaded)
def plain_load(event: StateDictLoaded, run: Run) -> Iterator[Finding]:
    """Are whole tensors loaded into sharded parameters?"""
    for target in event.target.objects():
        for held, place in _sharded(target):
            guard = together(event.guard, held)
            if guard is None or _is_sharded(event.source):
                continue
            yield rule.finding(
                run,
                event.site,
                "whole tensors are loaded into a model that fully_shard has sharded",
                guard=guard,
                certainty="fragile" if run.open_guard(guard) else "fails",
                symptom=MIXED,
                related=[(place.sites["sharded"], "sharded here")],
                fixes=(_fix(event),),
            )
            return


@rule.on(LibraryCall)
def copied(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a sharded model copied?"""
    if event.name != "copy.deepcopy" or event.call is None:
        return
    for item in event.call.get("", 0).objects():
        wrapped = item.kind == "fsdp" or bool(list(_sharded(item)))
        if wrapped:
            yield rule.finding(run, event.site, "a sharded model cannot be copied", guard=event.guard, symptom=COPY)
            return


def _sharded(item: Object) -> Iterator[tuple[Guard, Object]]:
    for holder in dict.fromkeys((item, root(item))):
        for guard, value in holder.known("sharded"):
            if value == Const(True) and "sharded" in holder.sites:
                yield guard, holder


def _is_sharded(source: Value) -> bool:
    """Whether a state dict was taken from a model that is sharded itself, or comes by a checkpoint library."""
    for item in source.objects():
        owners = item.attributes["of"].objects() if item.type == "state_dict" else []
        if any(True for owner in owners for _ in _sharded(owner)):
            return True
    return not any(
        item.type in ("state_dict", "checkpoint_file") or item.parent is not None for item in source.objects()
    )


def _fix(event: StateDictLoaded) -> Fix | None:
    node, module = rewrite.call_node(event.site), event.site.module
    if (
        node is None
        or not isinstance(node.func, ast.Attribute)
        or len(arguments(node)) != 1
        or is_spread(arguments(node)[0])
    ):
        return None
    text = (
        f"set_model_state_dict({module.code(node.func.value)}, {module.code(value_of(arguments(node)[0]))}, "
        "options=StateDictOptions(full_state_dict=True))"
    )
    edits = (*rewrite.ensure_import(module, LINE), rewrite.replace(event.site, text))
    return Fix(
        "set-model-state-dict",
        "Load through torch.distributed.checkpoint, which shards the tensors",
        edits,
        "unsafe",
        intent=("loaded",),
    )
