"""Synthetic rows: columns that a data set is known to have, that the program reads, or that its trainer wants."""

from __future__ import annotations

import ast
import csv
import importlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from gclint.verify.worker.shims import Replacements

ROWS = 64
DATA_FILES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".parquet")
TEXT = "the quick brown fox jumps over the lazy dog, and the dog does not mind it at all"
TALK = [
    {"role": "user", "content": "hello there", "from": "human", "value": "hello there"},
    {"role": "assistant", "content": "hi, how are you?", "from": "gpt", "value": "hi, how are you?"},
]
SHAPED: dict[str, Any] = {
    "messages": TALK, "conversations": TALK, "conversation": TALK, "label": 0, "labels": 0, "idx": 0, "score": 0.5,
    "translation": {"en": "hello", "de": "hallo", "fr": "bonjour", "ro": "salut", "vi": "xin chào"},
    "answers": {"text": ["the dog"], "answer_start": [35]}, "tokens": ["a", "dog"], "ner_tags": [0, 1],
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
PREFERENCES = ("DPOTrainer", "ORPOTrainer", "CPOTrainer", "RewardTrainer")
MADE_BY_TOKENIZERS = frozenset(
    {"input_ids", "attention_mask", "token_type_ids", "special_tokens_mask", "labels", "label_ids", "pixel_values"}
)


def columns_of(name: str, found: Replacements) -> tuple[str, ...]:
    """The columns that a data set's synthetic rows have: known, else read by the program, else its trainer's."""
    lowered = name.lower()
    known = next((columns for part, columns in KNOWN if part in lowered), ())
    if known:
        return known
    wanted = _read_in(found.text)
    if any(each in found.text for each in PREFERENCES):
        return tuple(dict.fromkeys(("prompt", "chosen", "rejected", *wanted)))
    if "GRPOTrainer" in found.text:
        return tuple(dict.fromkeys(("prompt", *wanted)))
    return wanted or ("text",)


def row_of(columns: tuple[str, ...], index: int) -> dict[str, Any]:
    """One row; rows differ by their number, labels alternate."""
    row = {name: SHAPED.get(name, f"{TEXT} ({name} {index})") for name in columns}
    return {name: index % 2 if name in ("label", "labels") else value for name, value in row.items()}


def write_rows(path: Path, found: Replacements) -> None:
    """Write synthetic rows as the file's ending asks."""
    rows = [row_of(columns_of(path.stem, found), index) for index in range(ROWS)]
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


@lru_cache(maxsize=4)
def _read_in(text: str) -> tuple[str, ...]:
    """The names that the program's code uses as keys, in order: x["name"], x.get("name"), column="name"."""
    names: dict[str, None] = {}
    for part in text.split("\0"):
        try:
            tree = ast.parse(part)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            names.update(dict.fromkeys(_keys(node)))
    return tuple(name for name in names if name.isidentifier() and name not in MADE_BY_TOKENIZERS)


def _keys(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Subscript):
        return _strings([node.slice])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return _strings(node.args[:1])
    if isinstance(node, ast.keyword) and (node.arg or "").endswith(("_field", "_column", "_column_name", "_columns")):
        held = node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else [node.value]
        return _strings(held)
    return []


def _strings(nodes: Any) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
