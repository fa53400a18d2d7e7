"""# pad-is-eos-labels (GCL822)

## What it does
Finds tokenizers whose padding token is the end-of-text token, given to a DataCollatorForLanguageModeling that makes the
labels.

## Why it breaks
The collator puts -100 wherever a label is the padding token. With `pad_token = eos_token` that is every end of a text,
not only the padding: the model never sees an end, and never learns to stop. So it is with packed blocks as well.

## Example
```python
tokenizer.pad_token = tokenizer.eos_token
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
```

## Use instead
```python
tokenizer.add_special_tokens({"pad_token": "[PAD]"})
model.resize_token_embeddings(len(tokenizer))
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
```

## When it is fine
A padding token of its own; labels of one's own; texts without an end-of-text token: those that a program makes tokens
of, and puts no end behind, and those of data that was made elsewhere, which is why it is fragile.

## Evidence
transformers 5.23: of "a b </s>" the labels are [2, 3, -100], with a padding token of its own [2, 3, 1].
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding
from gclint.ir.syntax import Module
from gclint.rule import Reproduction, Rule
from gclint.run.events import AttributeSet, LibraryCall, RunEnded
from gclint.run.guards import all_of
from gclint.run.run import Run
from gclint.run.values import Object

COLLATOR = "DataCollatorForLanguageModeling"

CHATS = ("apply_chat_template", "chat_template")
ENDS = ("</s>", "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|end|>", "<eos>", "[EOS]", "<end_of_turn>")
"""What ends a text of a well-known tokenizer."""

rule = Rule(
    code="GCL822",
    name="pad-is-eos-labels",
    docs=__doc__ or "",
    words=((COLLATOR,), (".pad_token",), (".eos_token",)),
    certainty=("fragile",),
    reproduction=Reproduction(
        "bad_collator.py",
        "good_own_padding.py",
        raises="AssertionError: no label is the end of the text",
        intent=("loss", "gradients", "updates"),
    ),
)


@rule.on(RunEnded)
def hides_the_end(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a collator that makes labels pad with the end of the text?"""
    modules = list(run.modules_with("truncation"))
    if any(map(_tokenizes, modules)) and not any(map(_ends_texts, dict.fromkeys((*modules, *run.modules_with("eos"))))):
        return
    for made in run.of_type(LibraryCall):
        if not made.name.endswith(f".{COLLATOR}") or made.call is None:
            continue
        if made.call.get("mlm", 1).constant() is not False:
            continue
        for tokenizer in made.call.get("tokenizer", 0).objects():
            padded = _padded_with_end(tokenizer, run)
            guard = all_of((made.guard, padded.guard)) if padded is not None else None
            if padded is None or guard is None:
                continue
            yield rule.finding(
                run,
                made.site,
                "every end-of-text token is a label of -100: the padding token is the same",
                guard=guard,
                certainty="fragile",
                symptom="silent: the model never learns to stop",
                versions=("transformers",),
                related=[(padded.site, "the padding token is the end of the text")],
            )
            break


def _tokenizes(module: Module) -> bool:
    """Whether a module makes tokens of texts."""
    calls = (each for each in module.parents if isinstance(each, ast.Call))
    return any(each.arg == "truncation" for call in calls for each in call.keywords)


def _ends_texts(module: Module) -> bool:
    """Whether a module puts an end behind texts: by the token, by what says so of the tokenizer, or in a text."""
    for node in module.parents:
        outer = module.parents[node]
        if isinstance(node, ast.keyword) and node.arg in ("add_eos_token", "tokenize"):
            return True
        if isinstance(node, ast.Attribute) and (node.attr in CHATS or node.attr.startswith("eos_token")):
            told = isinstance(outer, (ast.Assign, ast.Compare, ast.If)) or (
                isinstance(outer, ast.keyword) and (outer.arg or "").startswith(("eos_token", "pad_token"))
            )
            if not told:
                return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and any(each in node.value for each in ENDS):
            return True
    return False


def _padded_with_end(tokenizer: Object, run: Run) -> AttributeSet | None:
    """The last setting of a tokenizer's padding token, where it is its end-of-text token."""
    own = [each for each in run.of_type(AttributeSet) if each.target is tokenizer]
    set_ = [each for each in own if each.name in ("pad_token", "pad_token_id")]
    if not set_ or any(each.name in ("eos_token", "eos_token_id") for each in own):
        return None
    last = set_[-1]
    end = tokenizer.attributes.get(last.name.replace("pad", "eos"))
    same = end is not None and set(end.objects()) & set(last.value.objects())
    return last if same else None
