"""Data sets that need no hub: files that are there are read, everything else is a few synthetic rows."""

from __future__ import annotations

import functools
import importlib
import os
import re
from typing import Any

from gclint.verify.worker.shims import Replacements, media
from gclint.verify.worker.shims.columns import ROWS, columns_of, row_of
from gclint.verify.worker.shims.keys import read_by

LENGTH, FEW = 16, 64
FORMATS = ("json", "csv", "text", "parquet")
SPLITS = ("train", "validation", "test", "train_sft", "test_sft", "train_prefs", "test_prefs")


def install(found: Replacements) -> None:
    """Replace what reads data sets from the hub or from disk, and let selections be larger than the data."""
    try:
        datasets: Any = importlib.import_module("datasets")
    except ImportError:
        return
    datasets.config.HF_DATASETS_CACHE = found.scratch / ".datasets"
    datasets.disable_progress_bars()
    read, read_disk = datasets.load_dataset, datasets.load_from_disk

    def load(path: Any = "", *args: Any, split: Any = None, streaming: bool = False, **kwargs: Any) -> Any:
        files = kwargs.get("data_files")
        if path in FORMATS and files and all(os.path.exists(each) for each in _names(files)):
            return read(path, *args, split=split, streaming=streaming, **kwargs)
        named = " ".join([str(path), *map(str, args), *_names(files)])
        rows = _synthetic(datasets, named, found)
        rows = rows.to_iterable_dataset() if streaming else rows
        if split is not None:
            return [rows for _ in split] if isinstance(split, (list, tuple)) else rows
        kind = datasets.IterableDatasetDict if streaming else datasets.DatasetDict
        wanted = list(files) if isinstance(files, dict) else [each for each in SPLITS if _has(found, each)]
        return kind(dict.fromkeys(wanted, rows))

    def load_from_disk(path: Any, *args: Any, **kwargs: Any) -> Any:
        if os.path.exists(path):
            return read_disk(path, *args, **kwargs)
        return _synthetic(datasets, str(path), found, tokenized="input_ids" in found.text)

    datasets.load_dataset, datasets.load_from_disk = load, load_from_disk
    for kind in (datasets.Dataset, datasets.DatasetDict):
        kind.cast_column = media.without_decoding(datasets, kind.cast_column)
    _clip(datasets.Dataset)
    _clip_stream(datasets.IterableDataset)


def _has(found: Replacements, split: str) -> bool:
    return "_" not in split or split in found.text


def _synthetic(datasets: Any, name: str, found: Replacements, tokenized: bool = False) -> Any:
    columns = columns_of(name, found)
    if tokenized:  # what a data set of this name has, has been made into what the program reads
        columns = tuple(dict.fromkeys((*columns, *read_by(found.text))))
    count = FEW if media.shown(columns, 0) else ROWS
    found.note(f"data set {name.strip()}: {count} rows of synthetic columns ({_some(columns)})", "data set")
    rows = [{**row_of(columns, index, name, found.text), **media.shown(columns, index)} for index in range(count)]
    if tokenized:
        rows = [
            {
                **{each: LENGTH // 2 if each.endswith("_len") else value for each, value in row.items()},
                "input_ids": list(range(LENGTH)),
                "attention_mask": [1] * LENGTH,
                "labels": list(range(LENGTH)),
            }
            for row in rows
        ]
        found.note("rows read from disk: tokenized already", "rows")
    classes = _classes(found.text, rows[0])
    for number, row in enumerate(rows):
        row.update(dict.fromkeys(classes, number % 2))
    made = datasets.Dataset.from_list(rows)
    for each in classes:
        made = made.cast_column(each, datasets.ClassLabel(names=["no", "yes"]))
    return made


def _classes(text: str, row: dict[str, Any]) -> list[str]:
    """The columns of a row whose values are classes with names, as the program asks for the names."""
    if ".features" not in text:
        return []
    asked = re.findall(r"""features\[["'](\w+)["']\](?:\.feature)?\.(?:names|num_classes|int2str|str2int)\b""", text)
    return [each for each in row if each in asked or (each in ("label", "labels") and type(row[each]) is int)]


def _some(columns: tuple[str, ...]) -> str:
    more = len(columns) - 8
    return ", ".join(columns[:8]) + (f" and {more} more" if more > 0 else "")


def _names(files: Any) -> list[str]:
    if files is None:
        return []
    if isinstance(files, dict):
        return [name for each in files.values() for name in _names(each)]
    return [str(each) for each in files] if isinstance(files, (list, tuple)) else [str(files)]


def _alone(original: Any) -> Any:
    @functools.wraps(original)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("num_proc", None)
        return original(*args, **kwargs)

    return mapped


def _clip(kind: Any) -> None:
    """A program that takes the first thousand rows takes those that there are, and maps them in its own process."""
    select, divide = kind.select, kind.train_test_split
    for name in ("map", "filter"):
        setattr(kind, name, _alone(getattr(kind, name)))

    @functools.wraps(select)
    def selected(rows: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
        return select(rows, [each for each in indices if -len(rows) <= each < len(rows)], *args, **kwargs)

    @functools.wraps(divide)
    def divided(rows: Any, *args: Any, **kwargs: Any) -> Any:
        for name in ("test_size", "train_size"):
            size = kwargs.get(name)
            if isinstance(size, int) and size >= len(rows):
                kwargs[name] = len(rows) // 4 if name == "test_size" else None
        return divide(rows, *args, **kwargs)

    kind.select, kind.train_test_split = selected, divided


def _clip_stream(kind: Any) -> None:
    """A program that sets ten thousand rows of a stream aside sets aside a quarter of those that there are."""
    for name in ("take", "skip"):
        setattr(kind, name, _at_most(getattr(kind, name)))


def _at_most(original: Any) -> Any:
    @functools.wraps(original)
    def clipped(rows: Any, count: int) -> Any:
        return original(rows, count if count < ROWS else ROWS // 4)

    return clipped
