"""# double-shifted-labels (GCL821)

## What it does
Finds causal language models of transformers that get labels which are shifted already.

## Why it breaks
These models compare the logits of each token with the label one further on: they shift the labels themselves. With
`labels=ids[:, 1:]` for `input_ids=ids[:, :-1]` they learn the token after the next. Nothing is raised: the loss falls.

## Example
```python
loss = model(input_ids=ids[:, :-1], labels=ids[:, 1:]).loss
```

## Use instead
```python
loss = model(input_ids=ids, labels=ids).loss
```

## When it is fine
A loss of one's own on the logits; `shift_labels=`, which is taken as it is; encoder-decoder models and the few decoders
that do not shift, as BartForCausalLM; models of the project.

## Evidence
transformers 5.23.0, loss/loss_utils.py, ForCausalLMLoss: `labels = nn.functional.pad(labels, (0, 1), ...)`, then
`shift_labels = labels[..., 1:]`. A small model that learns to count gives 5 after 3.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Certainty, Edit, Finding, Fix
from gclint.ir.syntax import FORS, Module, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function, read_names, varying_names
from gclint.run.events import Backward, Forward, Iterated
from gclint.run.guards import conj
from gclint.run.parallel import forwards_of
from gclint.run.run import Run
from gclint.run.stepping import goes_over
from gclint.run.values import Object, Value, root

from ..words import BACKWARD

CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")
HEADS = ("ForCausalLM", "LMHeadModel")
AS_GIVEN = (
    *("Bart", "BigBirdPegasus", "Blenderbot", "BlenderbotSmall", "CpmAnt", "Marian", "MBart", "Mvp", "Pegasus"),
    *("PLBart", "ProphetNet", "Speech2Text2", "TrOCR", "Whisper", "XLMProphetNet", "XLNet"),
)
"""Models that take labels as they are."""
FORMS = ("contiguous", "clone", "detach", "to", "cuda", "long")
MOST_FORMS = 5

rule = Rule(
    code="GCL821",
    name="double-shifted-labels",
    docs=__doc__ or "",
    words=(HEADS, ("labels",), BACKWARD),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_shifted_by_hand.py",
        "bad_shifted_by_hand.fixed.py",
        raises="AssertionError: the model gives the token after the next",
        intent=CHANGES,
    ),
)


@rule.on(Backward)
def shifted_twice(event: Backward, run: Run) -> Iterator[Finding]:
    """Does a model that shifts its labels get them shifted?"""
    for forward in forwards_of(event, run):
        certainty, guard = _shifts(forward.model, run), conj(forward.guard, event.guard)
        call = forward.call
        if certainty is None or guard is None or call is None or call.gives("shift_labels"):
            continue
        batch = _collated(forward, run)
        labels = _slice(_given("labels", call.get("labels"), batch, call.open))
        inputs = _slice(_given("input_ids", call.get("input_ids", 0), batch, call.open))
        if labels is None or inputs is None or not _next_ones(labels, inputs):
            continue
        yield rule.finding(
            run,
            forward.site,
            "the labels are shifted twice: here, and by the model",
            guard=guard,
            certainty=certainty,
            symptom="silent: the model learns the token after the next",
            versions=("transformers",),
            related=[(labels, "these labels are one further on than the tokens")],
            fixes=(_whole(labels, inputs),),
        )


def _collated(forward: Forward, run: Run) -> dict[str, Value]:
    """What a function of the project puts into the batches of the loader that a forward is given one of, by key."""
    call, node = forward.call, rewrite.call_node(forward.site)
    spread = [each.value for each in node.keywords if each.arg is None] if node is not None else []
    named = {name for each in spread for name in read_names(each)}
    given = [root(item) for value in call.inputs() for item in value.objects()] if call is not None else []
    found: dict[str, Value] = {}
    for drawn in [each for each in run.of_type(Iterated) if each.item.known("collated")]:
        loop = next((each.node for each in forward.moment.loops if goes_over((*drawn.moment.loops, each), drawn)), None)
        own = isinstance(loop, FORS) and bool(named & {*read_names(loop.target), *varying_names(loop)})
        if own or any(drawn.item in item.known("loader").objects() for item in given):
            for batch in drawn.item.known("collated").objects():
                found |= {str(key): value for key, value in (batch.entries or {}).items()}
    return found


def _given(name: str, value: Value, batch: dict[str, Value], spread: bool) -> Value:
    """What a forward gets under a name: what the batch has there, where it reads it of that or is given all of it."""
    for item in value.objects():
        held = item.parent.attributes if item.parent is not None and item.kind in ("data", "unknown", "tensor") else {}
        key = next((key for key, each in held.items() if item in each.objects()), "")
        if key[2:-2] in batch:
            return batch[key[2:-2]]
    return batch.get(name, value) if spread and not value else value


def _shifts(model: Object, run: Run) -> Certainty | None:
    """How sure it is that a model shifts its labels: an AutoModelForCausalLM is one of many."""
    making = run.makers.get(model)
    if making is None or not isinstance(model.type, str):
        return None
    owner = making.name.removesuffix(".from_pretrained").removesuffix(".from_config").rpartition(".")[2]
    family = next((owner.removesuffix(head) for head in HEADS if owner.endswith(head)), "")
    if not family or family in AS_GIVEN or not making.name.startswith("transformers"):
        return None
    return "fragile" if family == "AutoModel" else "fails"


def _slice(value: Value) -> Site | None:
    """The slice that made a tensor, also where it went to another place or form since."""
    item = value.only()
    for _ in range(MOST_FORMS):
        made = item.site if isinstance(item, Object) else None
        node = made.node if made is not None else None
        if isinstance(node, ast.Subscript):
            return made
        if not isinstance(item, Object) or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return None
        item = item.made_of[0].only() if node.func.attr in FORMS and item.made_of else None
    return None


def _next_ones(labels: Site, inputs: Site) -> bool:
    """Whether one slice leaves out the first and the other the last along the last dimension of the same tensor."""
    of, whole = labels.node, inputs.node
    assert isinstance(of, ast.Subscript) and isinstance(whole, ast.Subscript)
    return (
        labels.module is inputs.module
        and enclosing_function(labels.module, of) is enclosing_function(inputs.module, whole)
        and labels.module.code(of.value) == inputs.module.code(whole.value)
        and _cut(labels.module, of) == ("1", "")
        and _cut(inputs.module, whole) == ("", "-1")
    )


def _cut(module: Module, node: ast.Subscript) -> tuple[str, str]:
    """The bounds of a slice of the last of two dimensions, as text."""
    last = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2 else None
    if not isinstance(last, ast.Slice) or last.step is not None:
        return "", ""
    return tuple(module.code(end) if end is not None else "" for end in (last.lower, last.upper))  # type: ignore[return-value]


def _whole(labels: Site, inputs: Site) -> Fix:
    """Give the tensor as it is to both."""
    edits: list[Edit] = []
    for site in (labels, inputs):
        assert isinstance(site.node, ast.Subscript)
        edits.append(rewrite.replace(site, site.module.code(site.node.value)))
    return Fix("unshifted", "Leave the shift to the model", tuple(edits), "unsafe", intent=CHANGES)
