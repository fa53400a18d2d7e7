"""# new-token-rows-frozen (GCL609)

## What it does
Finds adapters on a model whose vocabulary was extended, where nothing trains the rows of the new tokens.

## Why it breaks
`resize_token_embeddings` fills the new rows with random or mean values. An adapter freezes the embeddings: the rows
of the new tokens stay as they are, in the input and in the output layer. The model never learns what they mean.

## Example
```python
tokenizer.add_tokens(["<call>", "</call>"])
model.resize_token_embeddings(len(tokenizer))
model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "v_proj"]))
```

## Use instead
```python
ids = tokenizer.convert_tokens_to_ids(["<call>", "</call>"])
config = LoraConfig(target_modules=["q_proj", "v_proj"], trainable_token_indices={"embed_tokens": ids})
model = get_peft_model(model, config)
```
or `modules_to_save=["embed_tokens", "lm_head"]`.

## When it is fine
No token but one for padding is added; embeddings are among the targets, saved modules, or unfrozen afterwards. A token
that the tokenizer has already is not added, which is why it is fragile.

## Evidence
transformers 5.23, peft 0.21: after five steps the rows of the new tokens are what they were, and require no gradient.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding
from gclint.rule import Reproduction, Rule
from gclint.run.events import Adapted, AttributeSet, Event, LibraryCall, RunEnded, TrainableChanged
from gclint.run.guards import all_of
from gclint.run.parallel import inside
from gclint.run.run import Run
from gclint.run.values import NONE, TRUE, Const, Object, Value, root

TRAINS = ("modules_to_save", "trainable_token_indices")
EMBEDDINGS = ("embed", "wte", "lm_head", "all")

rule = Rule(
    code="GCL609",
    name="new-token-rows-frozen",
    docs=__doc__ or "",
    words=(("resize_token_embeddings",), ("add_tokens", "add_special_tokens"), ("get_peft_model", "add_adapter")),
    certainty=("fragile",),
    oracles=("changed",),
    reproduction=Reproduction(
        "bad_lora.py",
        "good_saved_modules.py",
        raises="AssertionError: the new rows stay",
        intent=("trained", "updates", "loss", "gradients", "saved", "random"),
    ),
)


@rule.on(RunEnded)
def rows_stay(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Were tokens added to a model whose adapter trains no embeddings?"""
    calls = run.of_type(LibraryCall) if event.whole else []
    added = [each for each in calls if _adds(each)]
    resized = [each for each in calls if each.name.endswith(".resize_token_embeddings")]
    for adapted in run.of_type(Adapted) if added else ():
        model = root(inside(adapted.model))
        grown = next(
            (each for each in resized if each.call and root(inside(each.call.receiver or model)) is model), None
        )
        adapter = adapted.model.known("adapter").objects()
        config = adapter[-1].attributes.get("config", Value(())).objects() if adapter else []
        if grown is None or not config or any(_may_train(each) for each in config) or _thaws(adapted, run):
            continue
        guard = all_of((added[0].guard, grown.guard, adapted.guard))
        if guard is None:
            continue
        yield rule.finding(
            run,
            adapted.site,
            "the adapter freezes the embeddings, and with them the rows of the tokens that were added",
            guard=guard,
            certainty="fragile",
            symptom="silent: the rows of the new tokens never change",
            versions=("transformers", "peft"),
            related=[(added[0].site, "tokens are added"), (grown.site, "rows are added for them")],
        )


def _adds(event: LibraryCall) -> bool:
    """Whether tokens are added that a model has to learn: any but those for padding, begin and end."""
    if event.call is None or event.name.rpartition(".")[2] not in ("add_tokens", "add_special_tokens"):
        return False
    if event.name.endswith(".add_tokens"):
        return True
    given = event.call.get("special_tokens_dict", 0).objects()
    return any("additional_special_tokens" in (item.entries or {}) for item in given)


def _may_train(config: Object) -> bool:
    """Whether an adapter trains embeddings, for all that is known of its settings."""
    if config.open or "Lora" not in config.class_name:
        return True
    if any(not _is_none(config.attributes.get(name, NONE)) for name in TRAINS):
        return True
    targets = config.attributes.get("target_modules", NONE)
    names = [item for each in targets.objects() for value in each.items or [] for _, item in value]
    literal = [item.value for item in (*names, *(item for _, item in targets)) if isinstance(item, Const)]
    unknown = any(each.items is None or each.each for each in targets.objects())
    return unknown or any(str(text).find(word) >= 0 for text in literal for word in EMBEDDINGS if text != "all-linear")


def _is_none(value: Value) -> bool:
    return value.only() == Const(None)


def _thaws(adapted: Adapted, run: Run) -> bool:
    """Whether something trains again later: parameters that are known, or what nobody knows, as embeddings may be."""
    later = run.of_type(TrainableChanged, AttributeSet, LibraryCall, start=run.place(adapted))
    return any(_lets_train(each) for each in later)


def _lets_train(event: Event) -> bool:
    if isinstance(event, TrainableChanged):
        return event.after != "none"
    if isinstance(event, AttributeSet):
        unknown = event.target is not None and event.target.kind in ("unknown", "part")
        return event.name == "requires_grad" and unknown and event.value.constant() is not False
    if not isinstance(event, LibraryCall) or event.call is None or event.name != "unknown.requires_grad_":
        return False
    return event.call.get("requires_grad", 0, TRUE).constant() is not False
