"""# state-dict-prefix-mismatch (GCL305)

## What it does
Finds state dicts that are taken from a model under a wrapper and loaded into the bare model, or the
reverse.

## Why it breaks
DistributedDataParallel and DataParallel put `module.` in front of every name, as torch's AveragedModel and timm's
ModelEmaV2 do, torch.compile `_orig_mod.`.
A strict load raises `RuntimeError: Error(s) in loading state_dict: Missing key(s) in state_dict`; with
`strict=False` nothing at all is loaded, silently.

## Example
```python
torch.save(ddp.state_dict(), path)
model.load_state_dict(torch.load(path))
```

## Use instead
```python
torch.save(ddp.module.state_dict(), path)
```

## When it is fine
The same wrapper on both sides; the prefix is taken off; a file of which nothing but a model is read, under a name that
the program does not save: it may be from elsewhere.

## Evidence
torch 2.13.0: 16 of 16 keys missing. pytorch/pytorch#94575, mlfoundations/open_clip#639.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, RunEnded, StateDictLoaded
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.saved import content_of
from gclint.run.values import NOTHING, Object

from .resumed import FILE, is_resumed, own_saves

MISSING = "RuntimeError: Error(s) in loading state_dict: Missing key(s) in state_dict"
MODULES = ("ddp", "dp", "average", "module", "model", "modules", "layer", "diffusers_model", "vision_model")
INNER = {"module.": "module", "_orig_mod.": "_orig_mod"}

rule = Rule(
    code="GCL305",
    name="state-dict-prefix-mismatch",
    docs=__doc__ or "",
    words=(("load_state_dict",), ("DistributedDataParallel", "DataParallel", "compile", "AveragedModel", "ModelEmaV")),
    certainty=("fails", "fragile"),
    fixable="safe",
    oracles=("keys",),
    reproduction=Reproduction(
        "bad_saved_wrapped.py",
        "bad_saved_wrapped.fixed.py",
        processes=2,
        raises="RuntimeError: Error(s) in loading state_dict for Net:",
        intent=("loaded", "saved"),
    ),
)


@rule.on(RunEnded)
def mismatch(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a state dict loaded on the other side of a wrapper than it was taken from?"""
    for load in run.of_type(StateDictLoaded):
        if not any(item.kind in MODULES for item in load.target.objects()):
            continue
        if load.moment.handlers and not load.strict.is_const(False):
            continue  # what it raises is caught, and loaded in another way
        all_taken = [(held, taken, known, _owner(taken)) for held, taken, known in _taken(run, load)]
        own = [held for held, _, _, owner in all_taken if owner in load.target.objects()]
        for held, taken, known, owner in all_taken:
            if owner is None or any(together(held, each) is not None for each in own):
                continue  # nothing tells it apart from the model's own
            saved, wanted = str(taken.known("prefix").constant() or ""), load.prefix
            if saved == wanted or owner.kind not in MODULES:
                continue
            guard = together(load.guard, held)
            if guard is None or taken.site is None or _stripped(run, load):
                continue
            yield rule.finding(
                run,
                load.site,
                _message(saved, wanted),
                guard=guard,
                certainty="fails" if known and not run.open_guard(guard) else "fragile",
                symptom="silent: nothing is loaded" if load.strict.is_const(False) else MISSING,
                related=[(taken.site, "the state dict is taken here")],
                fixes=(_inner(taken.site, saved) if saved else _inner(load.site, wanted),),
            )
            return


def _owner(taken: Object) -> Object | None:
    """The module that a state dict was taken from."""
    return next(iter(taken.attributes.get("of", NOTHING).objects()), None)


def _message(saved: str, wanted: str) -> str:
    if not wanted:
        return f"the names were saved with the wrapper's `{saved}` in front, and the bare model has none"
    if not saved:
        return f"the names were saved without the `{wanted}` that the wrapped model has"
    return f"the names were saved with `{saved}` in front, and this model's have `{wanted}`"


def _taken(run: Run, load: StateDictLoaded) -> Iterator[tuple[Guard, Object, bool]]:
    """The state dicts that what is loaded may be, directly or through a file; whether that is known to be so."""
    for guard, item in load.source:
        if not isinstance(item, Object):
            continue
        if item.type == "state_dict":
            yield guard, item, True
        for saved, content in content_of(run, item):
            for inner, part in content:
                held = together(saved.guard, inner)
                if isinstance(part, Object) and part.type == "state_dict" and held is not None:
                    yield held, part, True
        yield from ((held, part, False) for held, part in _of_an_earlier_run(item, load, run))


def _of_an_earlier_run(item: Object, load: StateDictLoaded, run: Run) -> Iterator[tuple[Guard, Object]]:
    """The first of the state dicts that an earlier run may have saved, where more than a model is read of the file, or
    training goes on from it, and all of them have the same names.
    """
    file = item
    while file.type != FILE and file.parent is not None:
        file = file.parent
    read = {name: value.objects() for name, value in file.attributes.items() if name.startswith("[")}
    key = next((name for name, held in read.items() if item in held), "")
    if file.type != FILE or not key or not (len(read) > 1 or is_resumed(file, run)):
        return
    kept = [
        (saved.guard, part)
        for saved, entries in own_saves(load, file, run)
        for part in entries.get(key, NOTHING).objects()
    ]
    if kept and len({str(part.known("prefix").constant() or "") for _, part in kept}) == 1:
        yield kept[0]


def _stripped(run: Run, load: StateDictLoaded) -> bool:
    """Whether the prefix is taken off what is loaded."""
    return any(
        event.name.endswith("consume_prefix_in_state_dict_if_present")
        and event.call is not None
        and set(event.call.get("state_dict", 0).objects()) & set(load.source.objects())
        for event in run.of_type(LibraryCall)
    )


def _inner(site: Site, prefix: str) -> Fix | None:
    """Ask the module inside the wrapper."""
    node = rewrite.call_node(site)
    if node is None or not isinstance(node.func, ast.Attribute):
        return None
    place = Site.at(site.module, node.func.value)
    edit = rewrite.replace(place, f"{site.module.code(node.func.value)}.{INNER[prefix]}")
    return Fix(
        "inner-module",
        "Use the module inside the wrapper, whose names are the plain ones",
        (edit,),
        intent=("loaded", "saved"),
    )
