"""Synthetic rows: columns that a data set is known to have, that the program reads, or that its trainer wants."""

from __future__ import annotations

import csv
import importlib
import json
import re
from pathlib import Path
from typing import Any

from gclint.verify.worker.shims import Replacements, media
from gclint.verify.worker.shims.keys import read_by

ROWS = 256
DATA_FILES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".parquet")
TEXT = "the dog runs"
TALK = [
    {"role": "user", "content": "hello there", "from": "human", "value": "hello there"},
    {"role": "assistant", "content": "hi, how are you?", "from": "gpt", "value": "hi, how are you?"},
]
SHAPED: dict[str, Any] = {
    "messages": TALK, "conversations": TALK, "conversation": TALK, "label": 0, "labels": 0, "idx": 0, "score": 0.5,
    "translation": {"en": "hello", "de": "hallo", "fr": "bonjour", "ro": "salut", "vi": "xin chào"},
    "answers": {"text": ["the dog"], "answer_start": [0]}, "tokens": ["a", "dog"], "ner_tags": [0, 1],
}  # fmt: skip
KNOWN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("alpaca", ("instruction", "input", "output", "text")),
    ("dolly", ("instruction", "context", "response", "category")),
    ("ultrachat", ("prompt", "prompt_id", "messages")),
    ("capybara", ("messages", "source")),
    ("ultrafeedback", ("chosen", "rejected", "score")),
    ("hh-rlhf", ("chosen", "rejected")),
    ("guanaco", ("text",)),
    ("wikitext", ("text",)),
    ("tinystories", ("text",)),
    ("openwebtext", ("text",)),
    ("imdb", ("text", "label")),
    ("ag_news", ("text", "label")),
    ("llava-instruct", ("messages", "images")),
    ("rlaif-v", ("prompt", "chosen", "rejected", "images")),
    ("kto-mix", ("prompt", "completion", "label")),
    ("math_shepherd", ("prompt", "completions", "labels")),
    ("prm800k", ("prompt", "completions", "labels")),
    ("deepmath", ("prompt", "solution")),
    ("numinamath", ("problem", "solution", "messages")),
    ("tldr", ("prompt", "completion")),
    ("cifar", ("img", "label")),
    ("beans", ("image", "labels")),
    ("food101", ("image", "label")),
    ("gsm8k", ("question", "answer")),
    ("cnn_dailymail", ("article", "highlights", "id")),
    ("samsum", ("id", "dialogue", "summary")),
    ("xsum", ("document", "summary", "id")),
    ("squad", ("id", "title", "context", "question", "answers")),
    ("wmt", ("translation",)),
    ("opus", ("id", "translation")),
    ("sst2", ("sentence", "label", "idx")),
    ("cola", ("sentence", "label", "idx")),
    ("mrpc", ("sentence1", "sentence2", "label", "idx")),
    ("glue", ("sentence", "sentence1", "sentence2", "premise", "hypothesis", "question", "question1", "question2",
              "label", "idx")),
    ("conll2003", ("id", "tokens", "ner_tags")),
)  # fmt: skip
SEEN = [
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what is it?"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "a picture"}]},
]
ANSWERED = [{"role": "assistant", "content": [{"type": "text", "text": "a dog"}]}]
SPELLED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("llava-instruct", {"messages": SEEN}),
    ("rlaif-v", {"prompt": SEEN[:1], "chosen": SEEN[1:], "rejected": ANSWERED}),
    ("math-shepherd", {"completions": ["one step", "another step"], "labels": [True, False]}),
    ("prm800k", {"completions": ["one step", "another step"], "labels": [True, False]}),
    ("kto", {"label": True}),
    ("deepmath", {"prompt": TALK[:1]}),
)
TRAINED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("KTOTrainer", ("prompt", "completion", "label")),
    ("BCOTrainer", ("prompt", "completion", "label")),
    ("PRMTrainer", ("prompt", "completions", "labels")),
    ("GKDTrainer", ("messages",)),
)
PREFERENCES = ("DPOTrainer", "ORPOTrainer", "CPOTrainer", "RewardTrainer")


def columns_of(name: str, found: Replacements) -> tuple[str, ...]:
    """The columns that a data set's synthetic rows have: known, else read by the program, else its trainer's."""
    lowered = name.lower()
    known = next((columns for part, columns in KNOWN if re.search(rf"(?:^|[/\s-]){part}", lowered)), ())
    if known:
        return known
    wanted = read_by(found.text)
    trained = next((columns for trainer, columns in TRAINED if trainer in found.text), ())
    if trained:
        return tuple(dict.fromkeys((*trained, *wanted)))
    if any(each in found.text for each in PREFERENCES):
        return tuple(dict.fromkeys(("prompt", "chosen", "rejected", *wanted)))
    if "GRPOTrainer" in found.text:
        return tuple(dict.fromkeys(("prompt", *wanted)))
    return wanted or ("text",)


def row_of(columns: tuple[str, ...], index: int, name: str = "", text: str = "") -> dict[str, Any]:
    """One row of the data set `name` for the program of this text; rows differ by their number, labels alternate.

    Who speaks in a talk is called as the program calls it; where it makes a text of a text, a label is a word.
    """
    shaped = dict(SHAPED)
    if not re.search(r"""["']human["']""", text) and re.search(r"""["']user["']""", text):
        talk = [{**each, "from": each["role"]} for each in TALK]
        shaped |= dict.fromkeys(("messages", "conversations", "conversation"), talk)
    if "ForSeq2SeqLM" in text and "ForSequenceClassification" not in text:
        shaped["label"] = ("positive", "negative")[index % 2]
    for part, spelled in SPELLED:
        if part in name.lower().replace("_", "-"):
            shaped |= spelled
    row = {each: shaped.get(each, f"{TEXT} ({each} {index})") for each in columns}
    for each in ("label", "labels"):
        if isinstance(row.get(each), (bool, int)):
            row[each] = type(row[each])(index % 2)
    return row


def write_rows(path: Path, found: Replacements) -> None:
    """Write synthetic rows as the file's ending asks."""
    columns = columns_of(path.stem, found)
    rows = [{**row_of(columns, index, path.stem, found.text), **media.named(columns, index)} for index in range(ROWS)]
    if path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    elif path.suffix in (".jsonl", ".ndjson"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".parquet":
        pyarrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(f"{TEXT} {index}\n{TEXT}\n\n" for index in range(ROWS)), encoding="utf-8")
