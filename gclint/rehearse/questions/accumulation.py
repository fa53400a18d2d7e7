"""Is the gradient of several rounds that of one batch of their rows?"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.rehearse.record import Event, Record, Recording
from gclint.rehearse.seen import Seen, listed, place

LEAST = 2
UNEVEN = 1.5


def ask(run: Recording) -> Iterator[Seen]:
    """Look at the steps of rank 0 that several backwards lead to."""
    yield from _divided(run.first)
    yield from _uneven(run.first)


def _divided(record: Record) -> Iterator[Seen]:
    """Losses of several batches that are added up without a division, or divided twice."""
    plain = {tuple(each["batch"]): each["value"] for each in record.of("loss") if each["batch"] and each["value"]}
    ratios, where, parts, windows = [], None, 0, 0
    for step in record.steps:
        losses = step["losses"]
        batches = {tuple(each["batch"] or ()) for each in losses}
        if len(losses) < LEAST or len({place(each["at"]) for each in losses}) > 1 or len(batches) < len(losses):
            continue
        where, parts, windows = place(losses[0]["at"]), max(parts, len(losses)), windows + 1
        for each in losses:
            value = plain.get(tuple(each["batch"] or ()))
            if value and each["values"] and each["values"][0]:
                ratios.append(value / each["values"][0])
    if len(ratios) < 4 or parts < LEAST or windows * 2 < len(record.steps):
        return
    if all(abs(ratio - 1) < 1e-3 for ratio in ratios):
        yield Seen(
            "GCS210",
            "accumulated-loss-not-divided",
            f"{parts} losses are added up for a step and not divided",
            where,
            f"the gradient of a step is {parts} times that of one batch of the same rows",
            f"divide each loss by {parts} before backward",
        )
    elif parts > 1 and all(abs(ratio / parts**2 - 1) < 1e-3 for ratio in ratios):
        yield Seen(
            "GCS211",
            "accumulated-loss-divided-twice",
            f"each of {parts} losses is divided by {parts} twice",
            where,
            f"the gradient of a step is a {parts}th of that of one batch of the same rows",
            "divide once: accelerate's backward and Trainer divide by themselves",
        )


def _uneven(record: Record) -> Iterator[Seen]:
    """Rounds with other counts of labels that all weigh the same: one batch of them all is a mean over its labels."""
    losses = {tuple(each["batch"]): each for each in record.of("loss") if each["batch"] and each.get("targets")}
    found = []
    for step in record.steps:
        rounds = [(each, losses.get(tuple(each["batch"] or ()))) for each in step["losses"]]
        weights = [_of_a_label(each, loss) for each, loss in rounds if loss is not None]
        padded = any(loss["ignored"] for _, loss in rounds if loss is not None)
        if padded and len(rounds) >= LEAST and len(weights) == len(rounds) and all(weights):
            found.append((max(weights) / min(weights), step, [_counted(loss) for _, loss in rounds if loss]))
    uneven = [each for each in found if each[0] > UNEVEN]
    if len(uneven) >= LEAST and len(uneven) * 2 >= len(found):
        most, step, counts = max(uneven, key=lambda each: each[0])
        yield Seen(
            "GCS213",
            "labels-weigh-unevenly",
            "rounds with few labels count as much as rounds with many",
            place(step["losses"][0]["at"]),
            f"in a step of rounds of {listed(map(str, counts))} labels one label weighs {most:.3g} times another",
            'sum the losses (reduction="sum") and divide by the labels of all rounds',
        )


def _of_a_label(backward: Event, loss: Event) -> float:
    """By how much one label of a round weighs in the gradient; 0 where that is not known, or no label is ignored."""
    value = backward["values"][0] if backward["values"] else 0.0
    counted = _counted(loss)
    if not value or not loss["value"] or not counted:
        return 0.0
    return float(value / loss["value"] / (counted if loss["mean"] else 1))


def _counted(loss: Event) -> int:
    return int(loss["targets"] - loss["ignored"])
