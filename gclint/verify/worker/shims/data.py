"""Data sets that need no files: a few rows whose columns answer to the names in use."""

from __future__ import annotations

import importlib
from typing import Any

from gclint.verify.worker.shims import Replacements

ROWS = 16
TALK = [{"role": "user", "content": "hello there"}, {"role": "assistant", "content": "hi, how are you?"}]
ROW: dict[str, Any] = {
    "text": "the quick brown fox jumps over the lazy dog",
    "messages": TALK,
    "conversations": TALK,
    "instruction": "say hi",
    "input": "now",
    "output": "hi there",
    "prompt": "say hi",
    "completion": " hi there",
    "chosen": "a good answer",
    "rejected": "a bad answer",
    "question": "why?",
    "answer": "because",
    "response": "hi",
    "sentence": "one sentence",
    "sentence1": "one sentence",
    "sentence2": "another",
    "label": 0,
    "idx": 0,
}


def install(found: Replacements) -> None:
    """Replace what reads data sets from the hub or from disk."""
    try:
        datasets: Any = importlib.import_module("datasets")
    except ImportError:
        return

    def load(path: Any = "", *args: Any, split: Any = None, streaming: bool = False, **kwargs: Any) -> Any:
        found.note(f"data set {path}: {ROWS} rows of synthetic columns")
        rows = datasets.Dataset.from_list([ROW] * ROWS)
        rows = rows.to_iterable_dataset() if streaming else rows
        if split is not None:
            return rows
        kind = datasets.IterableDatasetDict if streaming else datasets.DatasetDict
        return kind(dict.fromkeys(("train", "validation", "test"), rows))

    datasets.load_dataset = load
    datasets.load_from_disk = load
