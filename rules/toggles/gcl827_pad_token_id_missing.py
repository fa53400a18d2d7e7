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
configuration has one by default; a Trainer, which takes it over from the tokenizer.

## Evidence
transformers 5.23.0, modeling_layers.py: "Cannot handle batch sizes > 1 if no padding token is defined."; so did each
model's own module since 4.28. Before 4.32 LlamaConfig had a padding token of 0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, LibraryCall, RunEnded
from gclint.run.guards import all_of
from gclint.run.parallel import forwards_of
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, Object

from ..distributed.loaders import trained_on
from ..words import BACKWARD

CHANGES: tuple[Aspect, ...] = ("steps", "backwards", "forwards", "loss", "gradients", "updates")
HEAD = "ForSequenceClassification"
WITHOUT = ("Falcon", "GPT2", "GPTJ", "GPTNeo", "GPTNeoX", "Llama", "Mistral", "Mixtral", "Phi", "Qwen2", "Qwen3")
"""Models whose configuration has no padding token unless it is given."""
PUBLISHED = (
    *("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "openai-community/gpt2", "openai-community/gpt2-medium"),
    *("openai-community/gpt2-large", "openai-community/gpt2-xl", "distilgpt2", "distilbert/distilgpt2"),
    *("mistralai/Mistral-7B-v0.1", "meta-llama/Meta-Llama-3-8B"),
)
"""Published models whose configuration file has none."""

rule = Rule(
    code="GCL827",
    name="pad-token-id-missing",
    docs=__doc__ or "",
    words=((HEAD,), ("DataLoader",), BACKWARD),
    certainty=("fails",),
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
            made = _without_padding(forward.model, run)
            both = all_of((drawn.guard, forward.guard))
            if made is None or both is None or forward.model in told:
                continue
            for guard, (size,) in ways(both, drawn.item.attributes.get("batch_size", NOTHING)):
                if isinstance(size, Const) and isinstance(size.value, int) and size.value > 1:
                    told.add(forward.model)
                    yield rule.finding(
                        run,
                        forward.site,
                        f"batches of {size.value} need a padding token, and the model's configuration has none",
                        guard=guard,
                        symptom="ValueError: Cannot handle batch sizes > 1 if no padding token is defined.",
                        versions=("transformers",),
                        related=[(made, "the model is made here"), (drawn.site, "the batches come from here")],
                        fixes=(_set(made),),
                    )
                    break


def _without_padding(model: Object, run: Run) -> Site | None:
    """Where a classifier is made whose configuration surely has no padding token, and gets none later."""
    making = next((each for each in run.of_type(LibraryCall) if model in each.result.objects()), None)
    if making is None or making.call is None or making.call.open or _is_set(run):
        return None
    owner = making.name.removesuffix(".from_pretrained").rpartition(".")[2]
    if not owner.endswith(HEAD) or making.call.gives("pad_token_id"):
        return None
    if making.name.endswith(".from_pretrained"):
        name = making.call.get("pretrained_model_name_or_path", 0).constant()
        return making.site if name in PUBLISHED and not making.call.gives("config") else None
    config = making.call.get("config", 0).only()
    built = next((each for each in run.of_type(LibraryCall) if config in each.result.objects()), None)
    plain = built is not None and built.call is not None and not built.call.open
    own = built.name.rpartition(".")[2] if built is not None else ""
    given = built is not None and built.call is not None and built.call.gives("pad_token_id")
    target = run.targets.version("transformers")
    padded = own == "LlamaConfig" and target is not None and target < Version("4.32")
    known = own.removesuffix("Config") in WITHOUT and own.endswith("Config") and not padded
    return making.site if plain and known and not given else None


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
