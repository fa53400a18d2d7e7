"""Do the loss functions get what they are made for?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gclint.rehearse.record import Event, Recording
from gclint.rehearse.seen import Seen, place

LEAST = 2


def ask(run: Recording) -> Iterator[Seen]:
    """Look at the losses of rank 0, by the line that asks for them."""
    events = run.first.of("loss")
    for key in dict.fromkeys((place(each["at"]), each["name"]) for each in events):
        mine = [each for each in events if (place(each["at"]), each["name"]) == key]
        if len(mine) >= LEAST:
            yield from _activations(mine)
            yield from _stretched(mine)


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
