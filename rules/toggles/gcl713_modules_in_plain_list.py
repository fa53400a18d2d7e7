"""# modules-in-plain-list (GCL713)

## What it does
Finds layers that a module keeps in a plain list or dict, where PyTorch does not see them.

## Why it breaks
Only attributes that are modules, and what ModuleList and ModuleDict hold, are registered. Layers in a list are not
among `parameters()`: the optimizer never gets them, `.to(device)` leaves them where they are, the state dict lacks
them. Nothing is raised while all stays on one device.

## Example
```python
self.layers = [nn.Linear(8, 8) for _ in range(4)]
```

## Use instead
```python
self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])
```

## When it is fine
Layers that are registered as well, by `add_module`, also in a method that is called later, in a ModuleList or
Sequential, or as attributes; layers without parameters; a list of one, by which a module is hidden on purpose; frozen
layers; an optimizer that is given them.

## Evidence
torch 2.13.0: of three Linear in a list and one as an attribute, `named_parameters()` lists one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.frameworks.torch_modules import PARAMETRIC, trainable
from gclint.ir.gate import where
from gclint.ir.syntax import FORS, Site, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import calls_in
from gclint.run.events import AttributeSet, OptimizerBuilt, RunEnded
from gclint.run.parallel import models_of, owners
from gclint.run.run import Run
from gclint.run.values import Class, Object, Value, root

from ..words import STEPS

DISPLAYS = (ast.List, ast.Dict, ast.ListComp, ast.DictComp)
NAMES = {"nn": ("from torch import nn", "import torch.nn as nn"), "torch.nn": ("import torch", "import torch.nn")}
REGISTERS = ("add_module", "register_module")
CHANGES: tuple[Aspect, ...] = ("updates", "trained", "saved", "loaded", "modes", "dtypes", "buffers")

rule = Rule(
    code="GCL713",
    name="modules-in-plain-list",
    docs=__doc__ or "",
    words=((where("Module", r"[ \t]*class\b.*\(.*Module\b|.*\bModule as\b"),), STEPS),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("changed", "unregistered"),
    reproduction=Reproduction(
        "bad_list.py", "bad_list.fixed.py", raises="AssertionError: 2 of 8 tensors are registered", intent=CHANGES
    ),
)


@rule.on(RunEnded)
def unregistered(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a module of the project keep layers in a list or dict, and nowhere else?"""
    if not event.whole:
        return
    built = run.of_type(OptimizerBuilt)
    given = {owner for each in built for owner in owners(each.parameters)}
    told = set()
    for kept in run.of_type(AttributeSet):
        holder = kept.target
        if holder is None or not isinstance(holder.type, Class) or holder.kind != "module":
            continue
        for held in kept.value.objects():
            layers = _layers(held)
            if not layers or kept.site.node_id in told or any(_is_seen(each, given) for each in layers):
                continue
            if not _is_still_there(holder, kept, held) or _registers(holder.type, kept.name):
                continue
            told.add(kept.site.node_id)
            trains = any(root(holder) in models_of(each.parameters) for each in built)
            yield rule.finding(
                run,
                kept.site,
                f"`{kept.name}` is a plain {held.kind}: the layers in it are not among the module's parameters",
                guard=kept.guard,
                certainty="fails" if trains else "fragile",
                symptom="silent: the layers are never trained, moved or saved",
                related=[(layers[0].site, "one of the layers")] if layers[0].site is not None else [],
                fixes=(_registered(kept, held),),
            )


def _layers(held: Object) -> list[Object]:
    """The layers with parameters that a list or dict of several holds."""
    if held.kind not in ("list", "dict"):
        return []
    values: list[Value] = [*(held.items or []), *(held.entries or {}).values()]
    if len(values) < 2 and not held.each and not held.open:
        return []
    return [item for value in values for item in value.objects() if _has_parameters(item)]


def _has_parameters(item: Object) -> bool:
    if item.kind == "layer":
        return item.class_name in PARAMETRIC
    if item.kind == "modules":
        return any(_has_parameters(part) for value in item.items or [] for part in value.objects())
    own = isinstance(item.type, Class) and item.kind == "module"
    return own and any(_has_parameters(part) for value in item.attributes.values() for part in value.objects())


def _is_seen(layer: Object, given: set[Object]) -> bool:
    """Whether a layer is registered elsewhere, frozen, or given to an optimizer itself."""
    return layer.parent is not None or layer.escaped or layer in given or trainable(layer) != "all"


def _is_still_there(holder: Object, kept: AttributeSet, held: Object) -> bool:
    return held in holder.attributes.get(kept.name, kept.value).objects()


def _registers(owner: Class, name: str) -> bool:
    """Whether a loop goes over an attribute and registers each module, which this run may not have come to."""
    classes = (base.node for base in owner.ancestry() if isinstance(base, Class))
    loops = (node for each in classes for node in nodes(each) if isinstance(node, FORS))
    return any(
        any(isinstance(part, ast.Attribute) and part.attr == name for part in nodes(loop.iter))
        and any(dotted(call.func).rpartition(".")[2] in REGISTERS for call in calls_in(loop))
        for loop in loops
    )


def _registered(kept: AttributeSet, held: Object) -> Fix | None:
    """Make it a ModuleList or ModuleDict, where the file has a name for torch.nn."""
    module = kept.site.module
    outer = module.parents.get(kept.site.node)
    if not isinstance(outer, ast.Assign) or not isinstance(outer.value, DISPLAYS):
        return None
    spelled = next((name for name, lines in NAMES.items() if any(line.strip() in lines for line in module.lines)), "")
    if not spelled or not all(isinstance(key, str) for key in held.entries or {}):
        return None
    name = "ModuleList" if held.kind == "list" else "ModuleDict"
    text = f"{spelled}.{name}({module.code(outer.value)})"
    edit = rewrite.replace(Site.at(module, outer.value), text)
    return Fix("register", f"Use {name}", (edit,), "unsafe", intent=CHANGES)
