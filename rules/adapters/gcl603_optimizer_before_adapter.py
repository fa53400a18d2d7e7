"""# optimizer-before-adapter (GCL603)

## What it does
Finds optimizers built from a model's parameters before that model gets adapters, new layers or tensors, or more tokens,
or before an attribute that holds it becomes what `torch.load` gave.

## Why it breaks
The optimizer keeps the parameters it was given. `get_peft_model` freezes those and adds others that it has never
heard of: backward and step run, and nothing changes. A layer that is replaced later, `to_empty()` and
`load_state_dict(assign=True)` leave it with tensors that are in no model any more; so does
`resize_token_embeddings` with the output layer of a language model, unless that shares the embeddings' weights.

## Example
```python
optimizer = torch.optim.AdamW(model.parameters())
model = get_peft_model(model, lora)
```

## Use instead
```python
model = get_peft_model(model, lora)
optimizer = torch.optim.AdamW(model.parameters())
```

## When it is fine
The optimizer is built again afterwards, or gets the new ones by `add_param_group`; resized token embeddings, which keep
their parameter; `.to()`, which changes the parameters in place, also of sharded models. Whether a published model
shares its embeddings' weights is in a file that nobody read: fragile.

## Evidence
torch 2.13.0, peft 0.21: 0 of 16 adapter tensors change. Replaced layers, `to_empty()`, `assign=True` and a module that
is loaded in place of another likewise.
transformers 5.23: after `resize_token_embeddings` a Llama's embeddings are the same parameter and move, its
`lm_head.weight` is another one and does not (modeling_utils.py, `_get_resized_lm_head`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gclint.finding import Certainty, Finding, Fix
from gclint.frameworks.model_defaults import configuration_of, own_output_layer
from gclint.frameworks.torch_modules import PARAMETRIC
from gclint.ir.layout import on_its_own
from gclint.ir.syntax import COMPOUND, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import (
    Adapted,
    AttributeSet,
    Converted,
    Event,
    ItemSet,
    LibraryCall,
    OptimizerBuilt,
    OptimizerStep,
    TrainerStarted,
)
from gclint.run.guards import all_of, conj
from gclint.run.parallel import inside, models_of, owners
from gclint.run.run import Run
from gclint.run.values import NOTHING, Object, root

from ..words import STEPS

GROWS = ("resize_token_embeddings",)
LAYER = "a new layer"
GROWN = "an output layer for more tokens"
LOADED = "replaced by one of a file"
RESET = ("reset_classifier",)
CONTAINED = ("append", "extend", "insert", "add_module", "register_module")
SYMPTOM = "silent: the parameters that train are not the optimizer's; none of them changes"

rule = Rule(
    code="GCL603",
    name="optimizer-before-adapter",
    docs=__doc__ or "",
    words=(
        STEPS,
        ("get_peft_model", "add_adapter", "Linear", "to_empty", "assign", *GROWS, *RESET, "Parameter"),
        ("parameters",),
    ),
    bears=("bits",),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("changed",),
    reproduction=Reproduction("bad_lora.py", "bad_lora.fixed.py", intent=("updates",)),
)


class _Change(NamedTuple):
    """A model gets other parameters: by which event, in words what it gets, how sure it is that they are others, and
    which part of it gets them where that is not the whole.
    """

    event: Event
    model: Object
    what: str
    certainty: Certainty = "fails"
    part: Object | None = None


@rule.on(OptimizerStep, TrainerStarted)
def steps_on_old_parameters(event: OptimizerStep | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Did the model get other parameters after this optimizer took its own?"""
    if isinstance(event, OptimizerStep):
        optimizers = [event.optimizer]
    else:
        given = event.trainer.attributes.get("optimizers", NOTHING).objects()
        optimizers = [item for held in given for value in held.items or [] for item in value.objects()]
    for built in run.of_type(OptimizerBuilt):
        if built.optimizer not in optimizers or built.optimizer.site is None:
            continue
        told = ""
        for model in models_of(built.parameters):  # which may be one or another: under all of their conditions
            changes = _changes(run, built, model)
            change = next(
                (each for each in changes if all_of([each.event.guard, built.guard, event.guard]) is not None), None
            )
            if change is not None and told in ("", change.what):
                told = change.what
                yield _finding(run, built, change, event)
        if told:
            return


def _changes(run: Run, built: OptimizerBuilt, model: Object) -> list[_Change]:
    """What gave a model other parameters after an optimizer took its own, up to now."""
    taken = run.place(built)
    later = [each for each in _all_changes(run) if each.model is model and run.place(each.event) > taken]
    own = [inside(item) for item in owners(built.parameters)]
    return [
        each
        for each in later
        if _is_among(each.part, own)
        and not _is_told(built.optimizer, each.event, run)
        and not _was_made(each.event, built, run)
    ]


def _was_made(change: Event, built: OptimizerBuilt, run: Run) -> bool:
    """Whether a layer is put where the same line put one before the optimizer was built, under a condition that may
    ask for just that.
    """
    if not isinstance(change, ItemSet) or change.guard <= built.guard:
        return False
    return any(
        each.site.node is change.site.node and each.target is change.target and run.place(each) < run.place(built)
        for each in run.of_type(ItemSet)
    )


def _is_among(part: Object | None, own: list[Object]) -> bool:
    """Whether a part is in one of these modules; the whole of a model is around all of its parts."""
    while part is not None and part not in own:
        part = part.parent
        if part is None:
            return False
    return True


def _is_told(optimizer: Object, change: Event, run: Run) -> bool:
    """Whether an optimizer is given further parameters after a change, by a group or in one of its groups."""
    return any(
        root(each.target) is optimizer
        if isinstance(each, ItemSet)
        else each.name == "optimizer.add_param_group" and each.call is not None and each.call.receiver is optimizer
        for each in run.of_type(ItemSet, LibraryCall, start=run.place(change))
    )


def _all_changes(run: Run) -> list[_Change]:
    """What gave some model other parameters, up to now."""
    known: list[_Change] = run.facts.setdefault(rule.code, [])
    for event in run.new_to(rule.code, Adapted, AttributeSet, ItemSet, Converted, LibraryCall):
        target, what = _change(event)
        if target is not None:
            part = inside(target) if what == LAYER else None
            known.append(_Change(event, root(inside(target)), what, "fails", part))
        elif isinstance(event, LibraryCall) and event.call is not None and event.call.last in GROWS:
            known += _grown(event, run)
        elif isinstance(event, AttributeSet):
            known += _replaced(event, run)
    return known


def _replaced(event: AttributeSet, run: Run) -> list[_Change]:
    """The models that an attribute was before it became what torch.load gave."""
    new = event.value.objects()
    made = [run.makers.get(root(item)) for item in new]
    if not new or any(each is None or each.name != "torch.load" for each in made):
        return []
    sets = [each for each in run.of_type(AttributeSet) if each.target is event.target and each.name == event.name]
    before = dict.fromkeys(item for each in sets[: sets.index(event)] for item in each.value.objects())
    return [_Change(event, root(inside(item)), LOADED, "fragile") for item in before]


def _grown(event: LibraryCall, run: Run) -> list[_Change]:
    """The language model whose output layer is another one after more tokens, where that has weights of its own."""
    assert event.call is not None
    model = event.call.receiver
    tied = own_output_layer(model, run) if model is not None else None
    grows = model is not None and (_is_larger(event, model, run) or any(map(_adds_tokens, run.of_type(LibraryCall))))
    if model is None or tied is None or not grows:
        return []
    return [_Change(event, root(inside(model)), GROWN, tied)]


def _is_larger(event: LibraryCall, model: Object, run: Run) -> bool:
    """Whether the number of tokens is known to be another one than the configuration's."""
    built = configuration_of(model, run)
    assert event.call is not None
    count = event.call.get("new_num_tokens", 0).constant()
    before = built.call.get("vocab_size", 0).constant() if built is not None and built.call is not None else None
    return isinstance(count, int) and isinstance(before, int) and count != before


def _adds_tokens(event: LibraryCall) -> bool:
    return event.name.rpartition(".")[2] in ("add_tokens", "add_special_tokens")


def _change(event: Event) -> tuple[Object | None, str]:
    """What an event gives other parameters, and how; nothing when it does not."""
    if isinstance(event, Adapted):
        return event.model, "adapters"
    call = event.call if isinstance(event, Converted | LibraryCall) else None
    if isinstance(event, Converted) and call is not None and call.last == "to_empty":
        return event.module, "new tensors"
    if isinstance(event, LibraryCall) and call is not None and call.last == "load_state_dict":
        return call.receiver if call.get("assign", 2).constant() is True else None, "new tensors"
    if isinstance(event, LibraryCall) and call is not None and call.last in (*CONTAINED, *RESET):
        layer = call.last in RESET or any(_learns(item) for value in call.positional for item in value.objects())
        return call.receiver if layer else None, LAYER
    if isinstance(event, ItemSet):
        return event.target if any(map(_learns, event.value.objects())) else None, LAYER
    if isinstance(event, AttributeSet) and event.target is not None and event.target.kind != "instance":
        layer = any(_learns(item) for item in event.value.objects())
        building = event.target in event.moment.forwards or event.name == "forward"
        return event.target if layer and not building else None, LAYER
    return None, ""


def _learns(item: Object) -> bool:
    """Whether a layer, a list of layers or a parameter is one of its own, or brings some."""
    if item.type == "torch.nn.Parameter":
        return True
    return item.kind == "modules" or (item.kind == "layer" and item.class_name in PARAMETRIC)


def _finding(run: Run, built: OptimizerBuilt, given: _Change, used: Event) -> Finding:
    change = given.event
    guard = conj(built.guard, change.guard)
    return rule.finding(
        run,
        built.site,
        f"the optimizer takes the model's parameters before it {'is' if given.what == LOADED else 'gets'} {given.what}",
        guard=guard if guard is not None else built.guard,
        certainty=given.certainty,
        symptom=SYMPTOM,
        versions=("torch", "transformers" if given.what == GROWN else "peft"),
        related=[(change.site, "the model changes here"), (used.site, "the optimizer is used here")],
        fixes=(_later(built.site, change.site),),
    )


def _later(built: Site, change: Site) -> Fix | None:
    """Build the optimizer after the change, where both stand in one block."""
    module = built.module
    line, last = on_its_own(module, built.node), module.statement(change.node)
    if module is not change.module or line is None or isinstance(line, COMPOUND) or last is None:
        return None
    if enclosing_function(module, built.node) is not enclosing_function(module, change.node):
        return None
    edits = rewrite.move_after(module, line, last)
    return (
        Fix("build-later", "Build the optimizer after the change", tuple(edits), "unsafe", intent=("updates",))
        if edits
        else None
    )
