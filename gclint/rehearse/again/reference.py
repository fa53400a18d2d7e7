"""Is a step the same without checkpointing and data parallelism, but with gradients averaged over the ranks?"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.rehearse.again.another import Another
from gclint.rehearse.record import Recording
from gclint.rehearse.seen import Seen, listed, place
from gclint.verify.oracles import sketch_error
from gclint.verify.outcome import Outcome

EXACT, COARSE = 1e-3, 5e-2


def ask(other: Another) -> Iterator[Seen]:
    """Look at gradients, buffers and losses."""
    outcome, run = other.outcome, other.first
    if not (outcome.first.recomputed or run.first.of("wrapped")):
        return
    told = _told(outcome, other.run("reference", reference=True)[0], run)
    if told is not None and _told(outcome, other.run("once-more")[0], run) is None:
        yield told  # and the program is the same twice


def _told(outcome: Outcome, other: Outcome, run: Recording) -> Seen | None:
    """What is other in another run of the program: gradients of the first step, else what follows from it."""
    what = "checkpointing" if outcome.first.recomputed else "data parallelism"
    where = place(run.first.steps[0]["at"])
    help_ = f"look at what runs inside {what}: randomness, state that changes, forwards that go past the wrapper"
    gradients = differing(outcome, other)
    if gradients:
        name, off = max(gradients.items(), key=lambda each: each[1])
        return Seen(
            "GCS951",
            "gradients-change-with-wrapper",
            f"gradients are others with {what} than without it: {listed(gradients)}",
            where,
            f"{len(gradients)} parameters in the first step; {name} is off by {100 * off:.0f} % of its gradient",
            help_,
        )
    if run.first.of("wrapped") or other.status != "finished":
        return None
    buffers = [name for name, mine in outcome.first.buffers.items() if _apart(mine, other.first.buffers.get(name))]
    if buffers:
        return Seen(
            "GCS952",
            "buffers-change-with-wrapper",
            f"buffers are others with {what} than without it: {listed(buffers)}",
            where,
            f"{len(buffers)} buffers after {len(outcome.first.steps)} steps; the region runs twice in each step",
            help_,
        )
    losses = apart_in_losses(outcome, other)
    if losses is None:
        return None
    return Seen(
        "GCS953",
        "losses-change-with-wrapper",
        f"losses are others with {what} than without it",
        where,
        f"loss {losses[0] + 1} is {losses[1]:.5g} and {losses[2]:.5g} without",
        help_,
    )


def _apart(mine: list[float], theirs: list[float] | None) -> bool:
    """Whether two sketches are of tensors that differ by more than rounding."""
    if theirs is None or len(mine) != len(theirs) or not mine:
        return False
    return sketch_error(mine, theirs, max(mine[0], 1e-6)) > EXACT


def differing(one: Outcome, other: Outcome) -> dict[str, float]:
    """By how much the gradients of the first step differ on rank 0, of their size, where it is more than rounding."""
    if other.status != "finished" or not one.first.steps or not other.first.steps:
        return {}
    limit = EXACT if one.first.precision in ("float32", "float64") else COARSE
    mine, theirs = one.first.steps[0].gradients, other.first.steps[0].gradients
    largest = max((each[0] for each in mine.values() if each), default=0.0)
    found = {}
    for name in (name for name in mine if name in theirs):
        first, second = mine[name] or [0.0] * 9, theirs[name] or [0.0] * 9
        error = sketch_error(first, second, first[0])
        if max(first[0], second[0]) > 1e-4 * largest and error > limit:
            found[name] = error
    return found


def apart_in_losses(one: Outcome, other: Outcome) -> tuple[int, float, float] | None:
    """The first of the first losses that differs by more than rounding, with its place; None in half precision."""
    if one.first.precision not in ("float32", "float64") or other.status != "finished":
        return None
    pairs = enumerate(zip(one.losses[:4], other.losses[:4], strict=False))
    return next(((at, a, b) for at, (a, b) in pairs if abs(a - b) > EXACT * abs(b) + 1e-9), None)
