"""Is the gradient of the rounds of a step that of one batch of their rows?

The program is run up to its first step, once with its own rounds and once with the rows of all of them in each round;
rows are drawn by their index, nothing is dropped out (`gclint.rehearse.observe.rounds`). The size of the gradient is
left to what each round weighs (`gclint.rehearse.questions.accumulation`). A program that draws anything else on the
way, and one with batch norms, is not judged: there a batch is more than its rows.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator
from itertools import zip_longest

from gclint.rehearse.again.another import Another
from gclint.rehearse.again.reference import COARSE, EXACT
from gclint.rehearse.questions import accumulation
from gclint.rehearse.record import Event, Record
from gclint.rehearse.seen import Seen, listed, place
from gclint.verify.outcome import Outcome

MOST = 16  # rounds: each of them gets the rows of all


def ask(other: Another) -> Iterator[Seen]:
    """Compare the gradients of the first step."""
    record = other.first.first
    losses = record.steps[0]["losses"]
    if not _can_be_one(record, losses) or any(True for _ in accumulation.ask(other.first)):
        return
    own, mine = other.run("rounds", rounds=1, stop_after=1, short=False)
    one, theirs = other.run("one-batch", rounds=len(losses), stop_after=1, short=False)
    if not _same_rows(mine.first, theirs.first, len(losses)):
        return
    found = _differing(own, one)
    if found:
        name, off = max(found.items(), key=lambda each: each[1])
        yield Seen(
            "GCS214",
            "rounds-are-not-one-batch",
            f"the gradient of {len(losses)} rounds is not that of one batch of their rows: {listed(found)}",
            place(losses[0]["at"]),
            f"{len(found)} parameters in the first step; {name} is off by {100 * off:.0f} % of its gradient",
            "what compares the rows of a batch with each other, or divides by something in it, sees one round only",
        )


def _can_be_one(record: Record, losses: list[Event]) -> bool:
    """Whether several rounds of the same lines lead to the first step, and no model counts on its batch."""
    roots: list[Event] = next((each["roots"] for each in record.of("model")), [])
    one = len({place(each["at"]) for each in losses}) == 1 and not any(each["lost"] for each in record.steps)
    return one and 2 <= len(losses) <= MOST and not any(each["norms"] for each in roots)


def _same_rows(mine: Record, theirs: Record, count: int) -> bool:
    """Whether nothing was drawn, each loader gave one batch for each round (the next one may be fetched early), and
    each round of the second run had all the rows of the first.
    """
    one, other = next(iter(mine.of("rounds")), None), next(iter(theirs.of("rounds")), None)
    if one is None or other is None or one["drew"] or other["drew"] or not one["rows"]:
        return False
    nothing: list[Event] = []
    return all(
        count <= len(own) <= count + 1 and joined[:count] == [dict(ChainMap(*own[:count]))] * count
        for own, joined in zip_longest(one["rows"], other["rows"], fillvalue=nothing)
    )


def _differing(own: Outcome, one: Outcome) -> dict[str, float]:
    """By how much gradients differ, of their size, where it is more than rounding; both may be multiples."""
    if not own.first.steps or not one.first.steps:
        return {}
    theirs = one.first.steps[0].gradients
    pairs = {name: (a, b) for name, a in own.first.steps[0].gradients.items() if a and (b := theirs.get(name))}
    whole = sum(b * b for _, joined in pairs.values() for b in joined[1:])
    if not whole:
        return {}
    times = sum(a * b for mine, joined in pairs.values() for a, b in zip(mine[1:], joined[1:], strict=True)) / whole
    limit = EXACT if own.first.precision in ("float32", "float64") else COARSE
    largest, found = max(mine[0] for mine, _ in pairs.values()), {}
    for name, (mine, joined) in pairs.items():
        apart = (sum((a - times * b) ** 2 for a, b in zip(mine[1:], joined[1:], strict=True)) / 8) ** 0.5
        if mine[0] > 1e-4 * largest and apart > limit * mine[0]:
            found[name] = apart / mine[0]
    return found
