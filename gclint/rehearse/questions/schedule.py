"""Does the learning rate go the way that its schedule was meant to go?"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.rehearse.record import Event, Record, Recording
from gclint.rehearse.seen import Seen, place, share

LEAST = 3
WHOLE = ("SequentialLR", "ChainedScheduler")


def ask(run: Recording) -> Iterator[Seen]:
    """Look at learning rates and schedules of rank 0."""
    record = run.first
    if len(record.steps) < LEAST or not record.end:
        return
    yield from _ended(record)
    schedules = record.end["schedulers"]
    several = any(each["name"] in WHOLE for each in schedules)
    for each in schedules:
        yield from _other_optimizer(record, each)
        if not several:
            yield from _units(record, each)


def _ended(record: Record) -> Iterator[Seen]:
    for number in sorted({step["optimizer"] for step in record.steps}):
        steps = [step for step in record.steps if step["optimizer"] == number and step["rates"]]
        last = next((at for at in range(len(steps), 0, -1) if max(steps[at - 1]["rates"]) > 0), 0)
        over = len(steps) - last
        if last and over >= LEAST and over * 5 >= len(steps):
            stepped = next(
                (place(each["stepped"]) for each in record.end["schedulers"] if each["optimizer"] == number), None
            )
            yield Seen(
                "GCS601",
                "schedule-ends-early",
                "the learning rate is 0 long before the end",
                stepped or place(steps[last]["at"]),
                f"0 from step {last + 1} on: {over} of {len(steps)} steps ({share(over, len(steps))}) change nothing",
                "count the schedule's steps in the unit in which it is stepped",
            )


def _units(record: Record, each: Event) -> Iterator[Seen]:
    steps = [step for step in record.steps if step["optimizer"] == each["optimizer"]]
    where, made, last = place(each["stepped"]) or place(each["made"]), place(each["made"]), each["last"] or 0
    limit = each["limits"].get("T_max") or each["limits"].get("total_steps") or 0
    whole = not record.end["ended"] and not record.end["cut"]
    related = ((made, "made here"),) if made and made != where else ()
    rates = [max(step["rates"]) for step in steps if step["rates"]]
    if (
        each["name"] == "CosineAnnealingLR"
        and last > limit + 1
        and rates
        and max(rates[limit:], default=0) > min(rates) * 2
    ):
        yield Seen(
            "GCS602",
            "schedule-turns-back",
            f"the schedule was made for {limit} steps and is stepped {last} times",
            where,
            f"the rate falls to {min(rates):.3g} and rises again to {max(rates[limit:]):.3g}",
            "T_max in the unit in which it is stepped",
            related,
        )
    elif (
        whole
        and each["steps"]
        and limit
        and len(steps) >= 8
        and abs(limit - len(steps)) <= 0.05 * len(steps)
        and (last * 2 <= len(steps))
    ):
        yield Seen(
            "GCS603",
            "schedule-hardly-moves",
            f"the schedule was made for {limit} steps and is stepped {last} times",
            where,
            f"{len(steps)} optimizer steps; the rate ends at {rates[-1]:.3g}, having begun at {rates[0]:.3g}",
            "step it after each optimizer step, or count its length in epochs",
            related,
        )
    elif whole and not each["steps"] and len(steps) >= LEAST and each["name"] != "ReduceLROnPlateau":
        yield Seen(
            "GCS604",
            "schedule-never-stepped",
            f"{each['name']} is made and never stepped",
            made,
            f"{len(steps)} optimizer steps at {rates[0] if rates else 0:.3g}",
            "call scheduler.step()",
        )


def _other_optimizer(record: Record, each: Event) -> Iterator[Seen]:
    stepping = {step["optimizer"] for step in record.steps}
    if each["steps"] and each["optimizer"] not in stepping and each["optimizer"] >= 0:
        yield Seen(
            "GCS605",
            "schedule-of-another-optimizer",
            f"{each['name']} drives an optimizer that never steps",
            place(each["made"]),
            f"{each['steps']} times stepped, the rate in use stays {max(record.steps[-1]['rates'], default=0):.3g}",
            "make the schedule of the optimizer that is used",
        )
