"""Do the labels say what the model is to learn?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gclint.rehearse.questions.batches import trained_on
from gclint.rehearse.record import Record, Recording
from gclint.rehearse.seen import Seen, place, share

LEAST = 2


def ask(run: Recording) -> Iterator[Seen]:
    """Look at token batches that are trained on by rank 0."""
    record = run.first
    for loader in trained_on(record):
        batches = [each for each in record.of("batch") if each["loader"] == loader["number"]]
        labelled = [each["labels"] for each in batches if each.get("labels")]
        if not run.made_up and len(labelled) >= LEAST:
            yield from _ignored(labelled, loader)
        yield from _ends(labelled, loader)
        yield from _doubled(record, batches, loader)
    yield from _targets(record, run.made_up)
    yield from _shifted(record)


def _ignored(labelled: list[dict[str, Any]], loader: dict[str, Any]) -> Iterator[Seen]:
    if all(each["ignored"] == each["all"] for each in labelled):
        yield Seen(
            "GCS405",
            "labels-all-ignored",
            "every label is -100: there is nothing to learn",
            place(loader["at"]),
            f"{len(labelled)} batches, 100 % of their labels",
            "look at the mask of the prompt and at truncation",
        )


def _targets(record: Record, made_up: bool) -> Iterator[Seen]:
    mine = [each for each in record.of("loss") if "ignored" in each]
    if len(mine) >= LEAST and not made_up and all(each["ignored"] == each["targets"] for each in mine):
        yield Seen(
            "GCS405",
            "labels-all-ignored",
            "every target of the loss is ignored",
            place(mine[0]["at"]),
            f"{len(mine)} losses, 100 % of their targets are ignore_index",
            "look at how the targets are masked",
        )


def _ends(labelled: list[dict[str, Any]], loader: dict[str, Any]) -> Iterator[Seen]:
    """The token with which rows end, and whether it is ever a label."""
    rows: Counter[int] = Counter()
    seen: Counter[int] = Counter()
    learnt: Counter[int] = Counter()
    for each in labelled:
        for token, last, here, as_label in each["ends"]:
            rows[token] += last
            seen[token] += here
            learnt[token] += as_label
    total, ignored = sum(each["all"] for each in labelled), sum(each["ignored"] for each in labelled)
    for token, count in rows.most_common(1):
        if count >= 4 and count >= 0.9 * sum(rows.values()) and not learnt[token] and ignored < total:
            yield Seen(
                "GCS406",
                "end-token-never-a-label",
                f"rows end with token {token}, which is never a label",
                place(loader["at"]),
                f"{count} rows; 0 of {seen[token]} such tokens are learnt "
                f"({share(ignored, total)} of all labels are -100): the model never learns to stop",
                "a pad token of its own, other than the end token",
            )


def _doubled(record: Record, batches: list[dict[str, Any]], loader: dict[str, Any]) -> Iterator[Seen]:
    begins = [each["doubled"] for each in batches if each.get("doubled")]
    known = {number for each in record.of("model") for root in each["roots"] for number in root.get("begins", ())}
    first = {each[0] for each in begins}
    rows, doubled = sum(each[2] for each in begins), sum(each[1] for each in begins)
    if len(first) == 1 and rows >= 8 and doubled == rows and first <= known:
        yield Seen(
            "GCS407",
            "begin-token-doubled",
            f"rows begin with token {first.pop()} twice",
            place(loader["at"]),
            f"{doubled} of {rows} rows",
            "add_special_tokens=False for text that has its begin token",
        )


def _shifted(record: Record) -> Iterator[Seen]:
    mine = [each for each in record.of("forward") if "shifted" in each]
    if len(mine) >= LEAST and all(each["shifted"] > 0.95 and each["aligned"] < 0.5 for each in mine):
        yield Seen(
            "GCS408",
            "labels-shifted-twice",
            "labels are shifted, and the model shifts them again",
            place(mine[0]["at"]),
            f"{100 * mine[0]['shifted']:.0f} % of the labels are the next token already, in {len(mine)} forwards",
            "give the model labels=input_ids as they are",
        )
