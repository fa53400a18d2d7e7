"""# unrestored-forward-before-load (GCL301)

## What it does
Finds layers that are patched or wrapped for checkpointing and not restored before weights are loaded into
the model, or before the same is done once more.

## Why it breaks
A module that takes a layer's place, or is stored on the layer, changes the names of the state dict: a
strict load raises `RuntimeError: Error(s) in loading state_dict ... Missing key(s)`, any other load leaves
most of the model as it was initialised. A forward that is only replaced on the instance keeps the names and
loads; it is then one step from failing, when the model is copied, saved as a whole, or enabled a second
time: the finding is *fragile*.

## Example
```python
for index, layer in enumerate(model.layers):
    model.layers[index] = Checkpointed(layer)
model.load_state_dict(torch.load(path))
```

## Use instead
Load first and enable checkpointing after; or use torch's `checkpoint_wrapper`, which keeps the names.

## When it is fine
The forwards are restored before the load; the wrapped model loads only what it saved itself; a forward that is
compiled.

## Evidence
torch 2.13.0: wrapped by a module, 4 of 16 tensors loaded; a module stored on the layer: RecursionError in
state_dict; every patch of the forward attribute loaded 16 of 16.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.layout import gather
from gclint.ir.syntax import FUNCTIONS, Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import names, rewrite
from gclint.run.closures import body_of, bound_names, calls_in, enclosing_function
from gclint.run.events import AttributeSet, ForwardPatched, ItemSet, LibraryCall, RunEnded, StateDictLoaded
from gclint.run.guards import Guard, conj
from gclint.run.run import Run, together
from gclint.run.values import Class, Function, Object, Value, root

from ..words import assigned

WRAPPER = "torch.distributed.algorithms._checkpoint.checkpoint_wrapper"
MISSING = "RuntimeError: Error(s) in loading state_dict: Missing key(s) in state_dict"

Change = tuple[ItemSet | AttributeSet, Guard, str, Fix | None]

rule = Rule(
    code="GCL301",
    name="unrestored-forward-before-load",
    docs=__doc__ or "",
    words=(
        *((*ways, "load_state_dict") for ways in assigned("forward")),
        ("checkpoint", "load_state_dict"),
        ("checkpoint", "forward"),
    ),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("keys",),
    reproduction=Reproduction(
        "bad_wrapped_layers.py",
        "bad_wrapped_layers.fixed.py",
        raises="RuntimeError: Error(s) in loading state_dict for Net:",
        intent=("loaded", "saved"),
    ),
)


@rule.on(StateDictLoaded)
def patched_before_load(event: StateDictLoaded, run: Run) -> Iterator[Finding]:
    """Are forwards of the model replaced by checkpointing ones while weights are loaded?"""
    models = [root(item) for item in event.target.objects()]
    for patch in run.of_type(ForwardPatched):
        guard = together(event.guard, patch.guard)
        if guard is None or root(patch.target) not in models or not _checkpoints(patch.target):
            continue
        yield rule.finding(
            run,
            event.site,
            "weights are loaded while the layers' forwards are replaced for checkpointing",
            guard=guard,
            certainty="fragile",
            related=[(patch.site, "the forward is replaced here")],
            symptom="loads as it is; fails once a module, a copy or a second patch comes in between",
            fixes=(_restored(event.site),),
        )
        return


@rule.on(ForwardPatched)
def patched_twice(event: ForwardPatched, run: Run) -> Iterator[Finding]:
    """Is a checkpointing forward replaced by another one that calls it?"""
    if not _checkpoints(event.target) or event.target.known("checkpointed_before").constant() is not True:
        return
    earlier = [patch for patch in run.of_type(ForwardPatched) if patch.target is event.target and patch is not event]
    for patch in earlier[-1:]:
        guard = together(event.guard, patch.guard)
        if guard is not None:
            yield rule.finding(
                run,
                event.site,
                "the forward that is replaced here is a checkpointing one already",
                guard=guard,
                certainty="fragile",
                related=[(patch.site, "replaced before")],
                symptom="silent: each layer is recomputed once more",
            )


@rule.on(RunEnded)
def wrapped_before_load(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Are weights loaded into a model whose layers stand inside other modules by then?"""
    loaded = {root(item) for load in run.of_type(StateDictLoaded) for item in load.target.objects()}
    for change, guard_of_change, words, fix in _changes(run, loaded) if loaded else ():
        place = run.place(change)
        model = root(change.target) if change.target is not None else None
        own = _saved_after(run, model, place)
        for load in run.of_type(StateDictLoaded, start=place):
            if model not in [root(item) for item in load.target.objects()]:
                continue
            guard = together(guard_of_change, load.guard)
            if guard is None or _taken_since(run, load.source, place):
                continue
            yield rule.finding(
                run,
                load.site,
                f"{words}, so the names of the state dict no longer match",
                guard=guard,
                certainty="fragile" if own else "fails",
                symptom=MISSING,
                related=[(change.site, "the names change here")],
                fixes=(fix,),
            )
            break


def _checkpoints(target: Object) -> bool:
    return "forward" in target.attributes and target.known("checkpointed_forward").constant() is True


def _changes(run: Run, models: Collection[Object]) -> Iterator[Change]:
    """The moments outside of constructors at which a module comes between one of the models and a layer, and when."""
    copies = _copies(run)
    for change in run.of_type(ItemSet, AttributeSet):
        target: Object | None = change.target
        if target is None or root(target) not in models or _constructs(change):
            continue
        for held, item in change.value:
            guard = conj(held, change.guard)
            if guard is None or not isinstance(item, Object):
                continue
            if _wraps(item, target):
                yield change, guard, "a module that holds the layer took its place", _by_wrapper(item)
            elif (
                isinstance(change, AttributeSet) and _is_part(target) and (item is target or copies.get(item) is target)
            ):
                fix = None
                if isinstance(change.site.node, ast.Attribute):
                    value = target.sites.get(change.name)
                    text = f"{change.site.module.code(change.site.node.value)}.forward"
                    edit = rewrite.replace(value, text) if value is not None else None
                    fix = (
                        Fix(
                            "store-forward",
                            "Store the forward, not the module",
                            (edit,),
                            "unsafe",
                            intent=("loaded", "saved"),
                        )
                        if edit
                        else None
                    )
                yield change, guard, "the layer is stored on itself as a module", fix


def _is_part(item: Object) -> bool:
    return item.kind in ("module", "layer", "part", "modules", "model")


def _copies(run: Run) -> dict[Object, Object]:
    """What copy.copy and copy.deepcopy made of modules."""
    found = {}
    for event in run.of_type(LibraryCall):
        if event.name in ("copy.copy", "copy.deepcopy") and event.call is not None:
            for made, item in zip(event.result.objects(), event.call.get("", 0).objects(), strict=False):
                found[made] = item
    return found


def _wraps(item: Object, target: Object) -> bool:
    """Whether a module of the project holds a part of the target and checkpoints it."""
    if not isinstance(item.type, Class) or item.kind not in ("module", "part"):
        return False
    forward = names.class_attribute(item.type, "forward")
    if forward is None or not any(isinstance(part, Function) and _calls_checkpoint(part) for _, part in forward):
        return False
    held = [part for value in item.attributes.values() for part in value.objects() if part is not item]
    return any(_is_part(part) and root(part) is root(target) and part.parent is not item for part in held)


def _calls_checkpoint(function: Function) -> bool:
    return any(
        "checkpoint" in dotted(call.func).rsplit(".", 1)[-1] for call in gather(calls_in, body_of(function.node))
    )


def _constructs(event: ItemSet | AttributeSet) -> bool:
    sites = (event.site, *event.moment.stack)
    around = [enclosing_function(site.module, site.node) for site in sites]
    return any(isinstance(node, FUNCTIONS) and node.name == "__init__" for node in around)


def _saved_after(run: Run, model: Object | None, place: int) -> bool:
    """Whether the program saves the changed model's own state, so that it may load that again."""
    for event in run.of_type(LibraryCall, start=place):
        if event.name == "torch.save" and event.call is not None:
            saved = event.call.get("obj", 0).objects()
            parts = [part for item in saved for value in (item.entries or {}).values() for part in value.objects()]
            held = [
                owner
                for item in [*saved, *parts]
                if "of" in item.attributes
                for owner in item.attributes["of"].objects()
            ]
            if any(root(owner) is model for owner in held):
                return True
    return False


def _taken_since(run: Run, source: Value, place: int) -> bool:
    """Whether what is loaded was taken from the model after the change."""
    sites = {event.site for event in run.of_type(LibraryCall, start=place) if event.name.endswith(".state_dict")}
    return any(item.type == "state_dict" and item.site in sites for item in source.objects())


def _by_wrapper(item: Object) -> Fix | None:
    """Use torch's own wrapper, whose state dict keeps the plain names."""
    site = item.site
    layer = rewrite.positional(site, 0) if site is not None else None
    if site is None or layer is None:
        return None
    line = f"from {WRAPPER} import checkpoint_wrapper"
    if line not in site.module.text and "checkpoint_wrapper" in site.module.text:
        return None
    text = f"checkpoint_wrapper({site.module.code(layer)})"
    edits = (*rewrite.ensure_import(site.module, line), rewrite.replace(site, text))
    return Fix(
        "checkpoint-wrapper",
        "Wrap with torch's checkpoint_wrapper, which keeps the names",
        edits,
        "unsafe",
        intent=("loaded", "saved"),
    )


def _restored(site: Site) -> Fix | None:
    """Take the replaced forwards away before the load, and put them back after it."""
    node = rewrite.call_node(site)
    model = dotted(node.func.value) if node is not None and isinstance(node.func, ast.Attribute) else ""
    scope = enclosing_function(site.module, site.node)
    if not model or {"patched", "forward"} & set(gather(bound_names, scope.body)):
        return None
    above = rewrite.insert_before(
        site,
        'patched = {name: part.__dict__.pop("forward") for name, part in '
        f'{model}.named_modules() if "forward" in part.__dict__}}',
    )
    below = rewrite.insert_after(
        site, "for name, forward in patched.items():", f"    {model}.get_submodule(name).forward = forward"
    )
    edits: list[Edit] = [edit for edit in (above, below) if edit is not None]
    return (
        Fix(
            "restore-around-load",
            "Restore the forwards before the load and replace them again after it",
            tuple(edits),
            "unsafe",
            intent=("loaded", "saved"),
        )
        if len(edits) == 2
        else None
    )
