"""Do the loss functions get what they are made for?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gclint.rehearse.record import Event, Record, Recording
from gclint.rehearse.seen import Seen, place

LEAST, FORWARDS = 2, 4
SHARE = 0.4


def ask(run: Recording) -> Iterator[Seen]:
    """Look at the losses of rank 0, by the line that asks for them."""
    events = run.first.of("loss")
    for key in dict.fromkeys((place(each["at"]), each["name"]) for each in events):
        mine = [each for each in events if (place(each["at"]), each["name"]) == key]
        if len(mine) >= LEAST:
            yield from _activations(mine)
            yield from _stretched(mine)
    yield from _left_out(run.first)


def _left_out(record: Record) -> Iterator[Seen]:
    """Do the same rows of every batch have no part in the loss, of which the loss functions are not given them all?"""
    silent: dict[int, set[int]] = {}
    asked: dict[int, Event] = {}
    for each in record.of("rows"):
        forward, rows = each["forward"], set(each["silent"])
        silent[forward] = silent.get(forward, rows) & rows
        asked[forward] = each
    given: dict[tuple[int, ...], list[Event]] = {}
    for each in record.of("loss"):
        given.setdefault(tuple(each["batch"] or ()), []).append(each)
    seen = []
    for forward, each in asked.items():
        losses = given.get(tuple(each["batch"] or ()), [])
        left = sorted(silent[forward])
        whole = left and left == list(range(left[0], left[-1] + 1)) and (left[0] == 0 or left[-1] == each["count"] - 1)
        few = bool(losses) and sum(loss["rows"] for loss in losses) < each["count"]
        if not (each["batch"] and whole and few and SHARE * each["count"] <= len(left) < each["count"]):
            return
        seen.append((each, left, losses[0]))
    if len(seen) < FORWARDS or len({left[0] == 0 for _, left, _ in seen}) > 1:
        return
    each, left, loss = seen[0]
    which = f"the {'first' if left[0] == 0 else 'last'} {len(left)} of {each['count']} rows"
    yield Seen(
        "GCS506",
        "rows-left-out-of-loss",
        f"{which} of a batch have no part in the loss",
        place(loss["at"]),
        f"in each of {len(seen)} forwards their gradient is 0, and the loss is given {loss['rows']} rows",
        "give it all rows that the model is given",
    )


def _activations(mine: list[Event]) -> Iterator[Seen]:
    name, where, times = mine[0]["name"], place(mine[0]["at"]), f"in {len(mine)} of {len(mine)} calls"
    if name == "cross_entropy" and all(each.get("softmax") or each.get("sigmoid") for each in mine):
        yield Seen(
            "GCS501",
            "softmax-before-cross-entropy",
            "cross_entropy is given probabilities, and makes a softmax of them",
            where,
            f"{times}; differences of logits shrink to differences below 1",
            "give it the raw logits",
        )
    if name == "binary_cross_entropy_with_logits" and all(each.get("sigmoid") or each.get("softmax") for each in mine):
        yield Seen(
            "GCS502",
            "sigmoid-before-logits-loss",
            "the loss with logits is given probabilities",
            where,
            f"{times}; no output is below 0.5",
            "give it the raw logits",
        )
    if name == "kl_div" and all(each.get("softmax") or each.get("least", -1) >= 0 for each in mine):
        yield Seen(
            "GCS503",
            "kl-div-of-probabilities",
            "kl_div is given probabilities where logarithms of them are due",
            where,
            f"{times}; the value is no divergence and can be negative",
            "log_softmax in place of softmax",
        )
    if name == "nll_loss" and all(each.get("off", 0) > 0.05 for each in mine):
        off = sum(each["off"] for each in mine) / len(mine)
        yield Seen(
            "GCS504",
            "nll-of-no-log-probabilities",
            "nll_loss is given no logarithms of probabilities",
            where,
            f"{times}; they add up to exp({off:.2g}) away from 1, the loss has no lower bound",
            "log_softmax first",
        )


def _stretched(mine: list[Event]) -> Iterator[Seen]:
    for each in mine:
        if "shapes" in each:
            one, other = each["shapes"]
            if _stretch(one, other) > max(math.prod(one), math.prod(other)):
                yield Seen(
                    "GCS505",
                    "loss-of-stretched-shapes",
                    f"{each['name']} compares every row with every other row",
                    place(each["at"]),
                    f"shapes {one} and {other} are stretched to {_stretch(one, other)} pairs",
                    "squeeze or unsqueeze one of them",
                )
                return


def _stretch(one: list[int], other: list[int]) -> int:
    """How many elements two shapes have that are stretched to each other."""
    size = max(len(one), len(other))
    padded = ([1] * (size - len(each)) + each for each in (one, other))
    return math.prod(max(pair) for pair in zip(*padded, strict=True))
