"""# pad-token-id-missing (GCL827)

## What it does
Finds decoder models for sequence classification that are trained on batches of several texts and whose configuration
has no padding token.

## Why it breaks
Such a model classifies the last token of each text that is no padding. Without `pad_token_id` in its configuration it
cannot tell which that is, and raises for any batch of more than one. The tokenizer's padding token is another one.

## Example
```python
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForSequenceClassification.from_pretrained("gpt2")
```

## Use instead
```python
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForSequenceClassification.from_pretrained("gpt2")
model.config.pad_token_id = tokenizer.pad_token_id
```

## When it is fine
`pad_token_id` given to the configuration or to `from_pretrained`, or set later; batches of one; models whose
configuration has one by default; a Trainer that has the tokenizer, from which it takes the padding token over. The
configuration of a published model is in a file that nobody read: fragile.

## Evidence
transformers 5.23.0, modeling_layers.py: "Cannot handle batch sizes > 1 if no padding token is defined."; so did each
model's own module since 4.28. Before 4.32 LlamaConfig had a padding token of 0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from packaging.version import Version

from gclint.finding import Aspect, Certainty, Finding, Fix
from gclint.frameworks.model_defaults import PUBLISHED_WITHOUT, WITHOUT_PADDING
from gclint.frameworks.sharding import is_none
from gclint.ir.syntax import Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, LibraryCall, RunEnded, TrainerStarted
from gclint.run.guards import Guard, all_of
from gclint.run.parallel import forwards_of
from gclint.run.run import Run, ways
from gclint.run.values import NONE, NOTHING, Const, Object, const

from ..distributed.loaders import trained_on
from ..words import BACKWARD

CHANGES: tuple[Aspect, ...] = ("steps", "backwards", "forwards", "loss", "gradients", "updates")
HEAD = "ForSequenceClassification"
AUTO = f"AutoModel{HEAD}"
TRAINERS = ("Trainer", "Seq2SeqTrainer")
SIZE, DEFAULT_SIZE = "per_device_train_batch_size", 8

rule = Rule(
    code="GCL827",
    name="pad-token-id-missing",
    docs=__doc__ or "",
    words=((HEAD,), ("DataLoader", "Trainer"), (*BACKWARD, "Trainer")),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_config_without_padding.py",
        "bad_config_without_padding.fixed.py",
        raises="ValueError: Cannot handle batch sizes > 1 if no padding token is defined",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def cannot_tell_the_end(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a classifier without a padding token get batches of several texts?"""
    told: set[Object] = set()
    for drawn, backwards in trained_on(run):
        for forward in (each for backward in backwards for each in forwards_of(backward, run)):
            both = all_of((drawn.guard, forward.guard))
            if forward.model not in told and both is not None:
                sizes = drawn.item.attributes.get("batch_size", NOTHING)
                for finding in _too_many(forward.model, forward.site, ways(both, sizes), drawn.site, run):
                    told.add(forward.model)
                    yield finding


@rule.on(TrainerStarted)
def trained_without(event: TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a Trainer that has no tokenizer, from which it would take the padding token, train such a classifier?"""
    given = event.trainer.attributes
    plain = event.trainer.class_name in TRAINERS and not event.trainer.open
    if not plain or any(not is_none(given.get(name, NONE)) for name in ("processing_class", "tokenizer")):
        return
    for model in event.models:
        for guard, (args,) in ways(event.guard, given.get("args", NONE)):
            held = args.attributes.get(SIZE, const(DEFAULT_SIZE)) if isinstance(args, Object) else const(DEFAULT_SIZE)
            if not isinstance(args, Object) or not args.open:
                yield from _too_many(model, event.site, ways(guard, held), None, run)


def _too_many(
    model: Object, place: Site, sizes: Sequence[tuple[Guard, tuple[Any, ...]]], source: Site | None, run: Run
) -> Iterator[Finding]:
    """The finding of a classifier that gets more than one text at once."""
    made = _without_padding(model, run)
    for guard, (size,) in sizes if made is not None else ():
        if made is not None and isinstance(size, Const) and isinstance(size.value, int) and size.value > 1:
            yield rule.finding(
                run,
                place,
                f"batches of {size.value} need a padding token, and the model's configuration has none",
                guard=guard,
                certainty=made[1],
                symptom="ValueError: Cannot handle batch sizes > 1 if no padding token is defined.",
                versions=("transformers",),
                related=[
                    (made[0], "the model is made here"),
                    *([(source, "the batches come from here")] if source is not None else []),
                ],
                fixes=(_set(made[0]),),
            )
            return


def _without_padding(model: Object, run: Run) -> tuple[Site, Certainty] | None:
    """Where a classifier is made whose configuration has no padding token, and gets none later, and how sure that is:
    what is published was not read.
    """
    making = run.makers.get(model)
    if making is None or making.call is None or making.call.open:
        return None
    owner = making.name.removesuffix(".from_pretrained").removesuffix(".from_config").rpartition(".")[2]
    if not owner.endswith(HEAD) or making.call.gives("pad_token_id") or _is_set(run):
        return None
    if making.name.endswith(".from_pretrained"):
        name = str(making.call.get("pretrained_model_name_or_path", 0).constant() or "")
        named = {text for each in PUBLISHED_WITHOUT.values() for text in (each, each.rpartition("/")[2])}
        known = name in named if owner == AUTO else owner.removesuffix(HEAD) in PUBLISHED_WITHOUT
        return (making.site, "fragile") if known and not making.call.gives("config") else None
    config = making.call.get("config", 0).only()
    built = run.makers.get(config) if isinstance(config, Object) else None
    return (making.site, "fails") if built is not None and _has_none(built, run) else None


def _has_none(built: LibraryCall, run: Run) -> bool:
    """Whether a configuration is made without a padding token, of a family that has none by default."""
    own, call = built.name.rpartition(".")[2], built.call
    target = run.targets.version("transformers")
    padded = own == "LlamaConfig" and target is not None and target < Version("4.32")
    known = own.removesuffix("Config") in WITHOUT_PADDING and own.endswith("Config") and not padded
    return known and call is not None and not call.open and not call.gives("pad_token_id")


def _is_set(run: Run) -> bool:
    """Whether a padding token is set on anything but a tokenizer."""
    tokenizers = {
        item
        for each in run.of_type(LibraryCall)
        if "Tokenizer" in each.name.removesuffix(".from_pretrained").rpartition(".")[2]
        for item in each.result.objects()
    }
    return any(each.name == "pad_token_id" and each.target not in tokenizers for each in run.of_type(AttributeSet))


def _set(made: Site) -> Fix | None:
    """Take the end of the text for the padding."""
    line = made.module.statement(made.node)
    name = dotted(line.targets[0]) if isinstance(line, ast.Assign) and line.value is made.node else ""
    edit = rewrite.insert_after(made, f"{name}.config.pad_token_id = {name}.config.eos_token_id") if name else None
    return Fix("pad-token-id", "Set the padding token", (edit,), "unsafe", intent=CHANGES) if edit else None
