"""# double-bos (GCL823)

## What it does
Finds text of `apply_chat_template(tokenize=False)` that a tokenizer, or trl's SFTTrainer, makes tokens of with its
special tokens.

## Why it breaks
The template writes the begin token into the text, and the tokenizer puts another one before it. The model is trained,
or asked, with two begin tokens, which it has never seen; where it is used with one, it is not what it was trained for.
Nothing is raised.

## Example
```python
text = tokenizer.apply_chat_template(messages, tokenize=False)
ids = tokenizer(text).input_ids
```

## Use instead
```python
ids = tokenizer(text, add_special_tokens=False).input_ids
```
Or `apply_chat_template(messages)`, which makes the tokens itself; a column `messages` for SFTTrainer.

## When it is fine
`add_special_tokens=False`; a tokenizer or a template without begin token (Qwen's; one of the project's own; that of
a model named in the code, but for Llama's, Mistral's, Gemma's, Cohere's and DeepSeek's); a text from which the
begin token is taken; tokens that are only counted. Which model it is has to stand in the code, as a default at
least: of one that an option, a folder or a file of settings names nothing is said. Of most others only their files
tell whether they add a begin token: fragile.

## Evidence
transformers 5.23: the text "<s> a b " has the tokens [4, 4, 2, 3], and [4, 2, 3] without special tokens, as
`apply_chat_template` gives them. trl 1.16: SFTTrainer's rows begin with the two as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Certainty, Finding, Fix
from gclint.frameworks.hf_datasets import columns_of
from gclint.frameworks.tokenization import ENCODES, begins, template_begins
from gclint.ir.gate import unless
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, RunEnded
from gclint.run.guards import Guard
from gclint.run.parts_of_guards import everything
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, TRUE, Const, Object, Value

from ..only_counted import is_only_counted

TRAINER = ".SFTTrainer"
KEPT = (ast.BinOp, ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple, ast.GeneratorExp)
DEPTH = 5

rule = Rule(
    code="GCL823",
    name="double-bos",
    docs=__doc__ or "",
    words=(
        ("apply_chat_template",),
        (unless("tokenize=", "True"), unless("tokenize =", "True"), '"tokenize"', "'tokenize'"),
        ("tokenizer", "Tokenizer", "processing_class", "Processor", "encode"),
    ),
    certainty=("fails", "fragile"),
    preview=True,
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_text_of_the_template.py",
        "bad_text_of_the_template.fixed.py",
        raises="AssertionError: the text begins twice",
        intent=("loss", "gradients", "updates", "forwards"),
    ),
)


@rule.on(RunEnded)
def begins_twice(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a text that a template begins get a second beginning?"""
    told: set[ast.AST] = set()
    for call in run.of_type(LibraryCall):
        if call.call is None or "unsloth" in run.imported:
            continue
        for guard, made, tokenizer in _begun(call):
            certainty = _certainty(tokenizer)
            if certainty is None or made.site is None or call.site.node in told or _is_asked(guard, run):
                continue
            if is_only_counted(call.site.node, call.site.module):
                continue
            told.add(call.site.node)
            trainer = call.name.endswith(TRAINER)
            yield rule.finding(
                run,
                call.site,
                f"{'SFTTrainer' if trainer else 'the tokenizer'} puts a begin token before the one of the template",
                guard=guard,
                certainty=certainty,
                symptom="silent: the text begins with two begin tokens",
                versions=("transformers", "trl") if trainer else ("transformers",),
                related=[(made.site, "the template writes a begin token into this text")],
                fixes=() if trainer else (_without(call),),
            )


def _begun(call: LibraryCall) -> Iterator[tuple[Guard, Object, Object]]:
    """The texts of a template that a call makes tokens of, each with the tokenizer."""
    asked = call.call
    assert asked is not None
    if call.name in ENCODES:
        special = asked.get("add_special_tokens", None, TRUE)
        for guard, (item, adds) in ways(call.guard, asked.get("text", 0), special):
            held = _templated(item) if adds == Const(True) and isinstance(item, Object) else None
            if held is not None and asked.receiver is not None and asked.receiver in held.known("templated").objects():
                yield guard, held, asked.receiver
    elif call.name.endswith(TRAINER):
        for data in asked.get("train_dataset", 2).objects():
            args = asked.get("args", 1).only()
            field = args.attributes.get("dataset_text_field", NOTHING).constant() if isinstance(args, Object) else None
            for item in columns_of(data).get(f"[{field or 'text'!r}]", NOTHING).objects():
                held = _templated(item)
                for tokenizer in held.known("templated").objects() if held is not None else ():
                    assert held is not None
                    yield call.guard, held, tokenizer


def _templated(item: Object, depth: int = DEPTH) -> Object | None:
    """What a template gave, where a text, or a list of texts, still begins with it."""
    if "templated" in item.state or not depth:
        return item if "templated" in item.state else None
    node = item.site.node if item.site is not None else None
    parts: list[Value] = list(item.items or ())
    if isinstance(node, KEPT):
        parts += item.made_of[:1] if isinstance(node, ast.BinOp) else item.made_of
    found = (_templated(part, depth - 1) for value in parts[:1] for part in value.objects())
    return next((each for each in found if each is not None), None)


def _is_asked(guard: Guard, run: Run) -> bool:
    """Whether the program asks what a text begins with before it makes tokens of it."""
    atoms = {atom for atom, _ in everything(guard, tacit=False)}
    asked = (each.result for each in run.of_type(LibraryCall) if each.name.endswith(".startswith"))
    return any(atom in atoms for answer in asked for way, _ in answer for atom, _ in way)


def _certainty(tokenizer: Object) -> Certainty | None:
    """How sure it is that the tokenizer and its template both begin a text."""
    adds, writes = begins(tokenizer), template_begins(tokenizer)
    if adds is False or writes is False:
        return None
    return "fails" if adds and writes else "fragile"


def _without(call: LibraryCall) -> Fix | None:
    """Make the tokens without special ones."""
    edit = rewrite.set_argument(call.site, "add_special_tokens", "False")
    if edit is None:
        return None
    return Fix(
        "as-it-is",
        "Leave the begin token to the template",
        (edit,),
        "unsafe",
        intent=("loss", "gradients", "updates", "forwards"),
    )
