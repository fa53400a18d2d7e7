"""One run's parameter names in the spelling of another, where a module stands between model and layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gclint.verify.outcome import Outcome, RankReport


def aligned(outcome: Outcome, other: Outcome) -> Outcome:
    """Return `outcome` with its parameters and buffers named as `other` names them, where they pair up."""
    mine, theirs = outcome.first, other.first
    if not mine.steps or not theirs.steps:
        return outcome
    names = renaming(list(mine.steps[0].gradients), list(theirs.steps[0].gradients))
    names |= renaming(list(mine.buffers), list(theirs.buffers))
    if not names:
        return outcome
    return replace(outcome, ranks=tuple(_renamed(rank, names) for rank in outcome.ranks))


def renaming(mine: Sequence[str], theirs: Sequence[str]) -> dict[str, str]:
    """Pair the names that only one side has, in order, if they end alike; {} when they do not pair up."""
    left = [name for name in mine if name not in set(theirs)]
    right = [name for name in theirs if name not in set(mine)]
    pairs = dict(zip(left, right, strict=False))
    alike = all(_end(one) == _end(other) for one, other in pairs.items())
    return pairs if len(left) == len(right) and alike else {}


def _end(name: str) -> str:
    return name.rpartition(".")[2]


def _renamed(rank: RankReport, names: dict[str, str]) -> RankReport:
    steps = tuple(
        replace(
            step,
            gradients={names.get(name, name): each for name, each in step.gradients.items()},
            moves=None if step.moves is None else {names.get(name, name): each for name, each in step.moves.items()},
        )
        for step in rank.steps
    )
    buffers = {names.get(name, name): each for name, each in rank.buffers.items()}
    unchanged = tuple(names.get(name, name) for name in rank.unchanged)
    return replace(rank, steps=steps, buffers=buffers, unchanged=unchanged)
