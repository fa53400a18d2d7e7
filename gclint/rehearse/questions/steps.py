"""Is every gradient that is made used once, whole, and within its limit?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from gclint.rehearse.record import Record, Recording
from gclint.rehearse.seen import Seen, beside, named, place, share

LEAST = 2


def ask(run: Recording) -> Iterator[Seen]:
    """Look at backwards, clipping and steps of rank 0."""
    record = run.first
    yield from _leaf(record)
    yield from _uncleared(record)
    yield from _lost(record)
    yield from _clipping(record)
    yield from _not_finite(record, run.made_up)
    yield from _constant(record)
    yield from _half(record)


def _leaf(record: Record) -> Iterator[Seen]:
    leaves = [each for each in record.of("backward") if each["leaf"]]
    if leaves:
        yield Seen(
            "GCS203",
            "loss-without-graph",
            "backward of a loss that depends on nothing",
            place(leaves[0]["at"]),
            f"{len(leaves)} of {len(record.of('backward'))} backwards gave no parameter a gradient",
            "keep the graph of the loss: no argmax, .item(), torch.tensor(loss) or requires_grad_() on the way",
        )


def _uncleared(record: Record) -> Iterator[Seen]:
    for number in sorted({step["optimizer"] for step in record.steps}):
        steps = [step for step in record.steps if step["optimizer"] == number]
        left = [step for step in steps[1:] if step["uncleared"]]
        if len(left) < LEAST or len(left) < len(steps) - 1:
            continue
        names = named([record.parameters[each] for each in left[-1]["uncleared"] if each in record.parameters])
        yield Seen(
            "GCS201",
            "gradients-never-cleared",
            f"the gradients of the step before are still there at every backward: {names}",
            place(left[0]["at"]),
            f"{len(left[-1]['uncleared'])} parameters over {len(left)} steps; gradient norm "
            f"{steps[0]['total']:.3g} in the first step, {steps[-1]['total']:.3g} in the last",
            "optimizer.zero_grad() before each accumulation",
        )


def _lost(record: Record) -> Iterator[Seen]:
    lost = [each for step in record.steps for each in step["lost"]]
    places: Counter[tuple[str, int] | None] = Counter(place(each["at"]) for each in lost)
    for where, count in places.items():
        made = [each for each in record.of("backward") if place(each["at"]) == where]
        if count >= LEAST and len(made) > count:
            zeroed = next((place(each["zeroed"]) for each in lost if place(each["at"]) == where), None)
            yield Seen(
                "GCS202",
                "gradient-thrown-away",
                "gradients are cleared before a step has used them",
                where,
                f"{count} of {len(made)} backwards ({share(count, len(made))}) change nothing",
                "clear gradients once, after the step that uses them",
                ((zeroed, "cleared here"),) if zeroed else (),
            )


def _clipping(record: Record) -> Iterator[Seen]:
    clips = record.of("clip")
    for where in dict.fromkeys(place(each["at"]) for each in clips):
        mine = [each for each in clips if place(each["at"]) == where]
        empty = [each for each in mine if not each["gradients"]]
        if len(empty) >= LEAST and len(empty) >= len(mine) - 1 and any(step["total"] for step in record.steps):
            why = (
                "it is given no parameters"
                if not empty[-1]["parameters"]
                else "none of its parameters has a gradient yet"
            )
            yield Seen(
                "GCS204",
                "clipping-without-effect",
                f"clip_grad_norm_ clips nothing: {why}",
                where,
                f"norm 0 in {len(empty)} of {len(mine)} calls, at most "
                f"{max(step['total'] for step in record.steps):.3g} at the steps",
                "give it list(model.parameters()) after the backward, before the step",
            )
        elif sum(each["scaled"] for each in mine) >= LEAST:
            yield Seen(
                "GCS205",
                "clipped-while-scaled",
                "gradients are clipped while the scaler has them multiplied",
                where,
                f"limit {mine[-1]['limit']:g} for a norm of {mine[-1]['norm']:.3g}",
                "scaler.unscale_(optimizer) before clipping",
            )
    above = [
        (limit, norm, step)
        for step in record.steps
        for limit, norm in step["clipped"]
        if norm > limit * 1.01 + 1e-6 and not step["scaled"]
    ]
    if len(above) >= LEAST and not any(each["scaled"] for each in clips):
        limit, norm, step = max(above, key=lambda each: each[1] / max(each[0], 1e-12))
        yield Seen(
            "GCS206",
            "clipped-too-early",
            "the gradient that is stepped with is above the limit it was clipped to",
            place(clips[-1]["at"]),
            f"norm {norm:.3g} at a step, limit {limit:g}, in {len(above)} steps",
            "clip after the last backward of a step",
            beside(step["at"], "the step"),
        )


def _not_finite(record: Record, made_up: bool) -> Iterator[Seen]:
    broken = next((step for step in record.steps if step["broken"]), None)
    if broken is not None:
        names = named([record.parameters[each] for each in broken["broken"] if each in record.parameters])
        yield Seen(
            "GCS207",
            "weights-not-finite",
            f"weights are NaN or infinite: {names}",
            place(broken["at"]),
            f"after step {broken['step']}, {len(broken['broken'])} tensors or more",
            "look at the first loss that is not finite, at float16 weights and the optimizer's eps",
        )
        return
    losses = [(value, each) for each in record.of("backward") for value in each["values"]]
    bad = [each for value, each in losses if not math.isfinite(value)]
    targets = [each for each in record.of("loss") if each.get("targets")]
    masked = targets and all(each["ignored"] == each["targets"] for each in targets)
    if bad and not made_up and record.steps and not masked:
        yield Seen(
            "GCS208",
            "loss-not-finite",
            "the loss is NaN or infinite",
            place(bad[0]["at"]),
            f"{len(bad)} of {len(losses)} losses, the first in step {bad[0]['step'] + 1}",
            "look for a mean of nothing, log(0), or a division by zero",
        )


def _constant(record: Record) -> Iterator[Seen]:
    for where in dict.fromkeys(place(each["at"]) for each in record.of("backward")):
        mine = [each for each in record.of("backward") if place(each["at"]) == where and not each["leaf"]]
        values = [value for each in mine for value in each["values"]]
        batches = {tuple(each["batch"] or ()) for each in mine}
        moved = any(step["moved"] for step in record.steps)
        if len(values) >= 4 and len(set(values)) == 1 and len(batches) >= 4 and moved and math.isfinite(values[0]):
            yield Seen(
                "GCS209",
                "loss-never-changes",
                "the loss is the same for every batch and after every step",
                where,
                f"{len(values)} losses of exactly {values[0]:.6g}",
                "look at what the loss is computed from: it depends neither on the batch nor on what moves",
            )


def _half(record: Record) -> Iterator[Seen]:
    flushed = [step for step in record.steps if step.get("flushed")]
    if len(flushed) >= LEAST and sum(step["flushed"] for step in flushed) / len(flushed) > 0.05:
        most = max(step["flushed"] for step in flushed)
        yield Seen(
            "GCS212",
            "float16-without-scaler",
            "autocast to float16, and the loss is not scaled",
            place(flushed[0]["half"]),
            f"up to {100 * most:.0f} % of the gradient's elements are too small for float16",
            "use torch.amp.GradScaler, or bfloat16",
        )
