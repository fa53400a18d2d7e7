"""Do the ranks stay equal, and do they meet?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gclint.rehearse.record import Event, Record, Recording, place_of
from gclint.rehearse.seen import Seen, place

LEAST = 2


def ask(run: Recording) -> Iterator[Seen]:
    """Compare the ranks' collectives and steps."""
    if len(run.ranks) < 2:
        return
    unmet = list(_order(run))
    yield from unmet
    apart = [] if unmet else list(_equal(run))
    yield from apart
    if run.status in ("hung", "timeout") and not unmet and not apart:
        yield from _waiting(run)


def _groups(record: Record) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = defaultdict(list)
    for each in record.of("collective"):
        found[str(each["group"])].append(each)
    return found


def _order(run: Recording) -> Iterator[Seen]:
    """The first collective that is another one on another rank."""
    groups = [_groups(record) for record in run]
    for name in groups[0]:
        mine = [each.get(name, []) for each in groups]
        for events in zip(*mine, strict=False):
            names = [each["name"] for each in events]
            if len(set(names)) > 1:
                other = next(index for index, each in enumerate(names) if each != names[0])
                here, there = place_of(events[0]), place_of(events[other])
                yield Seen(
                    "GCS702",
                    "collectives-out-of-order",
                    f"ranks meet in different collectives: {names[0]} on rank 0, {names[other]} on rank {other}",
                    here or there,
                    f"collective {events[0]['number']} of the run, after {events[0]['step']} steps; they hang, or take "
                    "each other's numbers",
                    "call the same collectives on all ranks, in one order",
                    ((there, f"rank {other} is here"),) if there and there != here else (),
                )
                return


def _waiting(run: Recording) -> Iterator[Seen]:
    """Of a run that did not end: which rank waits in which line, and where the others are."""
    stands: list[tuple[Event | None, Event | None]] = []
    for record in run:
        joined = {each["number"] for each in record.of("joined")}
        open_ = next((each for each in reversed(record.of("collective")) if each["number"] not in joined), None)
        stands.append((open_, next((each for each in reversed(record.events) if place_of(each)), None)))
    waiting = [(rank, stand[0]) for rank, stand in enumerate(stands) if stand[0] is not None]
    if len(waiting) in (0, len(stands)):
        return
    rank, event = waiting[0]
    others = [(index, stand[1]) for index, stand in enumerate(stands) if stand[0] is None]
    told = ", ".join(f"rank {index} last at {_line(last)}" for index, last in others)
    there = place_of(others[0][1]) if others[0][1] is not None else None
    assert event is not None
    yield Seen(
        "GCS703",
        "collective-not-joined",
        f"rank {rank} waits in {event['name']} for ranks that never join it",
        place_of(event),
        f"after {event['step']} steps; {told}",
        "call the collective on every rank, or on none",
        ((there, f"rank {others[0][0]} was here last"),) if there else (),
    )


def _line(event: Event | None) -> str:
    at = place_of(event) if event is not None else None
    return f"{at[0]}:{at[1]}" if at else "an unknown line"


def _equal(run: Recording) -> Iterator[Seen]:
    if any(each["sharded"] for record in run for each in record.parameters.values()):
        return
    wrapped = all(record.of("wrapped") for record in run)
    talking = any(record.of("collective") for record in run)
    steps = list(zip(*(record.steps for record in run), strict=False))
    if len(steps) < LEAST:
        return
    equal = [_close([each["sum"] for each in ranks]) for ranks in steps]
    if wrapped or talking:
        first = next((index for index, same in enumerate(equal) if not same), None)
        if first is None or any(equal[first:]):
            return
        if not wrapped and first == 0:
            return  # of parts that were never equal nothing is known
        ranks = steps[-1]
        yield Seen(
            "GCS701",
            "ranks-drift-apart",
            "the ranks' weights are no longer equal",
            place(steps[first][0]["at"]),
            f"from step {first + 1} of {len(steps)} on; sums of the weights at the end "
            + ", ".join(f"{each['sum']:.6g}" for each in ranks),
            "average all gradients over all ranks: look for a step, a clipping or a skip that differs by rank",
        )
    elif not any(equal):
        yield Seen(
            "GCS704",
            "ranks-never-meet",
            "every rank trains a model of its own",
            place(steps[0][0]["at"]),
            f"{len(run.ranks)} processes, {len(steps)} steps, no collective, no DistributedDataParallel",
            "init_process_group and DistributedDataParallel, or start one process",
        )


def _close(sums: list[float]) -> bool:
    return all(abs(each - sums[0]) <= 1e-6 * max(1.0, abs(sums[0])) for each in sums)
