"""# average-not-restored (GCL317)

## What it does
Finds running averages (timm's `ModelEma`) that are given a file which has their weights, but not under the key under
which they look for them.

## Why it breaks
`ModelEma._load_checkpoint` reads `checkpoint["state_dict_ema"]`. Where the file is the state dict itself, it finds no
such key, writes a line to the log, and goes on with the copy of the model that it was made with: after a resume that is
mostly the model with fresh weights. The average that is evaluated and saved from then on is one of random weights.

## Example
```python
file = io.BytesIO()
torch.save(checkpoint["model_ema"], file)
file.seek(0)
average._load_checkpoint(file)
```

## Use instead
```python
torch.save({"state_dict_ema": checkpoint["model_ema"]}, file)
```

## When it is fine
A dict with that key; `ModelEmaV2` and `ModelEmaV3`, which are modules with `load_state_dict`; averages of a class of
the project's own that looks elsewhere; a file of which nobody knows what is in it.

## Evidence
timm 1.0.27: `utils/model_ema.py`, "Failed to find state_dict_ema, starting from loaded model weights". The class is
the same in timm 0.3.2, from whose time LeViT's and BEiT's functions are that do this.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, RunEnded
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.saved import saves
from gclint.run.values import Object, Value

from .resumed import FILE

KEY = "state_dict_ema"
STATE = "state_dict"

rule = Rule(
    code="GCL317",
    name="average-not-restored",
    docs=__doc__ or "",
    words=(("_load_checkpoint",), ("timm",)),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_state_alone.py",
        "bad_state_alone.fixed.py",
        needs="timm",
        raises="AssertionError: the average begins anew",
        intent=("loaded",),
    ),
)


@rule.on(RunEnded)
def begins_anew(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is an average given a file in which it does not find its weights?"""
    saved = [each for each in run.of_type(LibraryCall) if each.name == "torch.save" and each.call is not None]
    told: set[Site] = set()
    for load in run.of_type(LibraryCall):
        if load.name != "first_average._load_checkpoint" or load.call is None or load.site in told:
            continue
        files = set(load.call.get("checkpoint_path", 0).objects())
        for save in saved:
            assert save.call is not None
            guard = together(load.guard, save.guard)
            if guard is None or files.isdisjoint(save.call.get("f", 1).objects()):
                continue
            without = _without_key(save.call.get("obj", 0), guard, run)
            if without is None:
                continue
            told.add(load.site)
            yield rule.finding(
                run,
                load.site,
                f"the average finds none of its weights: this file has no `{KEY}`",
                guard=without,
                certainty="fragile",
                symptom="silent: after a resume the average begins anew",
                related=[(save.site, "the weights are written here, as they are")],
                fixes=(_under_its_key(save),),
            )
            break


def _without_key(content: Value, guard: Guard, run: Run) -> Guard | None:
    """The guard under which the weights are saved as they are; None where that is not known."""
    for held, item in content:
        both = together(guard, held)
        if both is not None and isinstance(item, Object) and any(part.type == STATE for part in _meant(item, run)):
            return both
    return None


def _meant(item: Object, run: Run) -> Iterator[Object]:
    """A thing, and for what is read of a file by its key what the program itself saves under that key."""
    yield item
    read = item.parent.attributes if item.parent is not None and item.parent.type == FILE else {}
    key = next((name for name, value in read.items() if item in value.objects()), "")
    for whole in (each for saved in saves(run) for each in saved.content.objects()):
        yield from (
            part for name, value in (whole.entries or {}).items() if key == f"[{name!r}]" for part in value.objects()
        )


def _under_its_key(save: LibraryCall) -> Fix | None:
    """Put what is saved under the key."""
    node, module = save.site.node, save.site.module
    if not isinstance(node, ast.Call) or not node.args or isinstance(node.args[0], ast.Starred):
        return None
    text = module.code(node.args[0])
    edit = rewrite.replace(Site.at(module, node.args[0]), f'{{"{KEY}": {text}}}')
    return Fix("key", "Write them under the key", (edit,), "unsafe", intent=("loaded",))
