"""# checkpoint-wrapper-names (GCL304)

## What it does
Finds names from `named_parameters()` of a model with checkpoint wrappers that are used as state dict keys.

## Why it breaks
The wrappers take their prefix `_checkpoint_wrapped_module.` off the state dict's names, and leave it in
`named_parameters()`. A dict built from those names does not load: `RuntimeError: Error(s) in loading
state_dict: Missing key(s) in state_dict`; a filter by them drops every wrapped layer, silently.

## Example
```python
average = {name: value.clone() for name, value in model.named_parameters()}
plain.load_state_dict(average)
```

## Use instead
```python
average = {name.replace("_checkpoint_wrapped_module.", ""): value.clone()
           for name, value in model.named_parameters()}
```

## When it is fine
Names from `state_dict()` on both sides; the prefix is taken off; names taken before wrapping.

## Evidence
torch 2.13.0: 12 of 16 names differ. mosaicml/composer#2745, pytorch/pytorch#118119.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.layout import value_of
from gclint.ir.syntax import Site, arguments
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, StateDictLoaded
from gclint.run.run import Run
from gclint.run.values import Object, root

PREFIX = "_checkpoint_wrapped_module."
MISSING = "RuntimeError: Error(s) in loading state_dict: Missing key(s) in state_dict"

rule = Rule(
    code="GCL304",
    name="checkpoint-wrapper-names",
    docs=__doc__ or "",
    words=(("checkpoint_wrapper", "apply_activation_checkpointing"), ("named_parameters",), ("load_state_dict",)),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("keys",),
    reproduction=Reproduction(
        "bad_average.py",
        "bad_average.fixed.py",
        raises="RuntimeError: Error(s) in loading state_dict for Net:",
        intent=("loaded", "saved"),
    ),
)


@rule.on(StateDictLoaded)
def wrapped_names(event: StateDictLoaded, run: Run) -> Iterator[Finding]:
    """Do the names of what is loaded come from the parameters of a wrapped model?"""
    for item in event.source.objects():
        own = [(item, False)]
        own += [(names, True) for names in item.known("filtered_by").objects()]
        for names, filters in own:
            models = [model for model in names.known("names_of").objects() if _wrapped_before(run, model, names)]
            if not models or names.site is None:
                continue
            message = (
                "the weights are filtered by parameter names that carry the checkpoint wrappers' prefix"
                if filters
                else "the names come from parameters under checkpoint wrappers, with their prefix"
            )
            yield rule.finding(
                run,
                event.site,
                message,
                guard=event.guard,
                certainty="fragile" if run.open_guard(event.guard) else "fails",
                symptom="silent: wrapped layers are not loaded" if filters else MISSING,
                related=[(names.site, "the names are taken here")],
                fixes=(_fix(names.site),),
            )
            return


def _wrapped_before(run: Run, model: Object, names: Object) -> bool:
    """Whether layers of the model stood in wrappers when the names were taken."""
    places = [wrapper.sites["wrapped"] for wrapper in run.facts.get("wrapped_layers", ()) if root(wrapper) is model]
    places += [model.sites["layers_wrapped"]] if "layers_wrapped" in model.sites else []
    calls = [event.site for event in run.of_type(LibraryCall)]
    taken = [
        index
        for index, event in enumerate(run.of_type(LibraryCall))
        if event.name.endswith(".named_parameters") and root(event.call.receiver) is model
    ]
    return any(calls.index(place) < taken[-1] for place in places if place in calls and taken)


def _fix(site: Site) -> Fix | None:
    """Take the prefix off where the names are gathered."""
    node, module = site.node, site.module
    strip = f'.replace("{PREFIX}", "")'
    if isinstance(node, ast.DictComp) and isinstance(node.key, ast.Name):
        place, text = Site.at(module, node.key), node.key.id + strip
    elif isinstance(node, (ast.SetComp, ast.ListComp)) and isinstance(node.elt, ast.Name):
        place, text = Site.at(module, node.elt), node.elt.id + strip
    elif isinstance(node, ast.Call) and len(arguments(node)) == 1 and module.code(node.func) == "dict":
        source = module.code(value_of(arguments(node)[0]))
        place, text = site, f"{{name{strip}: value for name, value in {source}}}"
    else:
        return None
    return Fix(
        "strip-prefix",
        "Take the wrappers' prefix off the names",
        (rewrite.replace(place, text),),
        "unsafe",
        intent=("loaded", "saved"),
    )
