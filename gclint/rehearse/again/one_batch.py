"""Is the gradient of a step that of one batch of all its rows: those of its rounds, and those of its ranks?

The program is run up to its first step: with its own batches, and with batches that are joined. Rows are drawn by their
index, nothing is dropped out (`gclint.rehearse.observe.joined`). The size of the gradient is left to what each round
weighs (`gclint.rehearse.questions.accumulation`). A program that draws anything else on the way, and one with batch
norms, is not judged: there a batch is more than its rows.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, TypeVar

from gclint.rehearse.again.another import Another
from gclint.rehearse.questions import accumulation
from gclint.rehearse.record import Event, Record, Recording
from gclint.rehearse.seen import Seen, listed, place
from gclint.verify.oracles import FLOOR, sketch_error
from gclint.verify.outcome import Outcome

MOST = 16  # rounds: each of them gets the rows of all
LEAST = 5e-2  # of the whole gradient: small ones in half precision are other in a batch of another size
Batch = dict[str, list[float]]
T = TypeVar("T")


def ask(other: Another) -> Iterator[Seen]:
    """Compare the gradients of the first step."""
    record = other.first.first
    losses = record.steps[0]["losses"]
    accumulated = len(losses) > 1 and not any(True for _ in accumulation.ask(other.first))
    if not _can_be_joined(record, losses) or not (accumulated or len(other.outcome.ranks) > 1):
        return
    until: dict[str, Any] = {"stop_after": 1, "short": False, "joined": (1, False)}
    own = other.run("own-batches", **until)
    batches = [_batches(each, len(losses)) for each in own[1]]
    if not all(batches):
        return
    where = place(losses[0]["at"])
    if accumulated:
        rounds = [[dict(ChainMap(*loader))] * len(losses) for loader in batches[0]]
        joined = other.run("joined-rounds", **(until | {"joined": (len(losses), False)}))
        yield from _told("GCS214", f"{len(losses)} rounds", where, _differing(own, joined, rounds))
    if len(batches) > 1 and _in_step(own[1]):
        ranks = [[dict(ChainMap(*each)) for each in _abreast(loaders)] for loaders in _abreast(batches)]
        joined = other.run("joined-ranks", **(until | {"joined": (1, True)}))
        yield from _told("GCS215", f"{len(batches)} ranks", where, _differing(own, joined, ranks))


def _can_be_joined(record: Record, losses: list[Event]) -> bool:
    """Whether rounds of the same lines lead to the first step, and no model counts on its batch."""
    roots: list[Event] = next((each["roots"] for each in record.of("model")), [])
    one = len({place(each["at"]) for each in losses}) == 1 and not any(each["lost"] for each in record.steps)
    return one and 1 <= len(losses) <= MOST and not any(each["norms"] for each in roots)


def _batches(record: Record, count: int) -> list[list[Batch]]:
    """By loader the rows of one batch for each round, of which the next may be fetched early; nothing where something
    else is drawn.
    """
    event = next(iter(record.of("fetched")), None)
    if event is None or event["drew"] or not all(count <= len(each) <= count + 1 for each in event["rows"]):
        return []
    return [each[:count] for each in event["rows"]]


def _abreast(lists: Iterable[list[T]]) -> Iterator[tuple[T, ...]]:
    return zip(*lists, strict=False)


def _in_step(own: Recording) -> bool:
    """Whether all ranks take the first step with the same gradient."""
    totals = [record.steps[0]["total"] for record in own if record.steps]
    return len(totals) == len(own.ranks) and max(totals) - min(totals) <= 1e-3 * max(totals)


def _differing(
    own: tuple[Outcome, Recording], joined: tuple[Outcome, Recording], rows: list[list[Batch]]
) -> dict[str, float]:
    """By how much gradients differ, of their size, where they do on the whole and the joined batches have the `rows` of
    all; both may be multiples.
    """
    nothing: list[Any] = []
    got = next((each["rows"] for each in joined[1].first.of("fetched") if not each["drew"]), nothing)
    same = all(mine == theirs[: len(mine)] for mine, theirs in zip_longest(rows, got, fillvalue=nothing))
    if not rows or not same or not own[0].first.steps or not joined[0].first.steps:
        return {}
    theirs = joined[0].first.steps[0].gradients
    pairs = {name: (a, b) for name, a in own[0].first.steps[0].gradients.items() if a and (b := theirs.get(name))}
    size = sum(b * b for _, whole in pairs.values() for b in whole[1:])
    times = sum(a * b for mine, whole in pairs.values() for a, b in zip(mine[1:], whole[1:], strict=True)) / (size or 1)
    floor = FLOOR * max((mine[0] for mine, _ in pairs.values()), default=0.0)
    off = {name: sketch_error([times * each for each in whole], mine, floor) for name, (mine, whole) in pairs.items()}
    sizes = {name: max(mine[0], floor) for name, (mine, _) in pairs.items()}
    whole = math.hypot(*(off[name] * sizes[name] for name in off)) / (math.hypot(*sizes.values()) or 1)
    return {name: each for name, each in off.items() if each > LEAST} if whole > LEAST else {}


def _told(code: str, parts: str, where: tuple[str, int] | None, found: dict[str, float]) -> Iterator[Seen]:
    if found:
        name, off = max(found.items(), key=lambda each: each[1])
        yield Seen(
            code,
            f"{parts.split()[1]}-are-not-one-batch",
            f"the gradient of {parts} is not that of one batch of their rows: {listed(found)}",
            where,
            f"{len(found)} parameters in the first step; {name} is off by {100 * off:.0f} % of its gradient",
            f"what compares rows with each other, or divides by what a batch has, sees one of {parts} alone",
        )
