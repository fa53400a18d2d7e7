"""# kv-cache-in-wrapped-forward (GCL515)

## What it does
Finds torch's checkpoint wrappers around the layers of a transformers decoder that trains with its cache on.

## Why it breaks
The layers write keys and values into the cache, and write them again when they are recomputed. Reentrant
wrappers give wrong gradients silently; non-reentrant ones raise `CheckpointError: Recomputed values ...
have different metadata` up to transformers 5.0. transformers' own checkpointing turns the cache off;
torch's wrappers do not.

## Example
```python
apply_activation_checkpointing(model, checkpoint_wrapper_fn=reentrant, check_fn=is_layer)
```

## Use instead
```python
apply_activation_checkpointing(model, checkpoint_wrapper_fn=reentrant, check_fn=is_layer)
model.config.use_cache = False
```

## When it is fine
`use_cache` is False; `model.gradient_checkpointing_enable()`; non-reentrant wrappers on transformers 5.23.

## Evidence
transformers 4.44.2: right gradients (models/llama/modeling_llama.py makes no cache in training); 4.57.6, 5.0.0 and
5.23.0: wrong gradients (reentrant) on all. huggingface/transformers#34928.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, Backward, Forward, LibraryCall, TrainerStarted
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.values import NOTHING, Const, Object, root

rule = Rule(
    code="GCL515",
    name="kv-cache-in-wrapped-forward",
    docs=__doc__ or "",
    words=(("apply_activation_checkpointing", "checkpoint_wrapper"), ("transformers",)),
    certainty=("fails", "fragile"),
    fixable="safe",
    holds="transformers >= 4.45",
    oracles=("gradients",),
    reproduction=Reproduction("bad_reentrant.py", "bad_reentrant.fixed.py"),
)


@rule.on(Backward, TrainerStarted)
def cached(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a decoder train with a cache under torch's wrappers?"""
    version = run.targets.version("transformers")
    if version is not None and version < Version("4.45"):
        return  # no cache is made there while a model trains
    models = (
        list(event.models)
        if isinstance(event, TrainerStarted)
        else [item.attributes["of"].objects()[0] for item in event.forwards]
    )
    for model in dict.fromkeys(models):
        if model.known("fills_cache").constant() is not True or _cache_off(run, model):
            continue
        for held, place, reentrant in _wrappings(run, model):
            guard = together(event.guard, held)
            if guard is None:
                continue
            yield rule.finding(
                run,
                place,
                "the wrapped layers write into the key-value cache again when they are recomputed",
                guard=guard,
                certainty="fragile" if run.open_guard(guard) else "fails",
                symptom="silent: wrong gradients"
                if reentrant
                else "CheckpointError: Recomputed values for the following tensors have different metadata",
                fixes=(_fix(place),),
                versions=("torch", "transformers"),
            )
            return


def _cache_off(run: Run, model: Object) -> bool:
    """Whether the code turns the cache off: in a configuration, on an object, or in the call."""
    for event in run.events:
        if isinstance(event, AttributeSet) and event.name == "use_cache" and event.value.is_const(False):
            return True
        if (
            isinstance(event, LibraryCall)
            and event.call is not None
            and event.name.startswith("transformers.")
            and (event.call.get("use_cache").is_const(False))
        ):
            return True
        if (
            isinstance(event, Forward)
            and root(event.model) is model
            and event.call is not None
            and (event.call.get("use_cache").is_const(False))
        ):
            return True
    return False


def _wrappings(run: Run, model: Object) -> Iterator[tuple[Guard, Site, bool]]:
    """Where the model's layers were wrapped so that the cache breaks them, and whether reentrant."""
    version = run.targets.version("transformers")
    breaks_plain = version is not None and version <= Version("5.0.0")
    found = [
        (item.site, item.attributes.get("reentrant", NOTHING))
        for item in model.known("checkpointing").objects()
        if item.type == "wrapper"
    ]
    found += [
        (item.sites["wrapped"], item.known("reentrant"))
        for item in run.facts.get("wrapped_layers", [])
        if root(item) is model
    ]
    for place, mode in found:
        for guard, item in mode:
            if place is not None and (item == Const(True) or (item == Const(False) and breaks_plain)):
                yield guard, place, item == Const(True)


def _fix(place: Site) -> Fix | None:
    node = rewrite.call_node(place)
    named = rewrite.argument(place, "model")
    given = named.value if named is not None else rewrite.positional(place, 0)
    model = dotted(given)
    if node is None or not model or not dotted(node.func).endswith("apply_activation_checkpointing"):
        return None
    edit = rewrite.insert_after(place, f"{model}.config.use_cache = False")
    return Fix("no-cache", "Turn the cache off, which training does not need", (edit,)) if edit is not None else None
