"""What only the other run of the pair can tell: whether an edit made a difference for the better or worse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gclint.verify.oracles import Failure, step_errors
from gclint.verify.outcome import KeysLoaded, Outcome

SAME_LOSS = 1e-4


def worse_than(outcome: Outcome, other: Outcome, oracles: Sequence[str], before: bool) -> list[Failure]:
    """Return in what a finished run is worse than the other of its pair, for the named oracles.

    "keys": it fills fewer tensors from the state dicts it loads. "changed": it leaves more of its trainable tensors as
    they are. "unregistered": its model has fewer trainable tensors, and fewer of them change. "rounds": it ceases to
    recompute regions where the other goes on. "agrees": asked of the run before the edit only, it computes other losses
    or gradients than the run after.
    """
    found = []
    for name in oracles:
        text = PAIRWISE[name](outcome, other, before) if name in PAIRWISE else ""
        if text:
            found.append(Failure(name, text))
    return found


def _keys(outcome: Outcome, other: Outcome, before: bool) -> str:
    for mine, theirs in zip(outcome.first.keys, other.first.keys, strict=False):
        if _share(mine) < _share(theirs):
            return f"load_state_dict filled {mine.loaded} of {mine.present} tensors"
    if other.first.keys and not outcome.first.keys:
        return "no state dict was loaded"
    return ""


def _share(load: KeysLoaded) -> float:
    return load.loaded / load.present if load.present else 1.0


def _changed(outcome: Outcome, other: Outcome, before: bool) -> str:
    mine, theirs = outcome.first, other.first
    if not (mine.trainable and theirs.trainable and mine.changed and theirs.changed):
        return ""
    if mine.changed / mine.trainable >= theirs.changed / theirs.trainable:
        return ""
    return f"only {mine.changed} of {mine.trainable} trainable tensors ever change"


def _unregistered(outcome: Outcome, other: Outcome, before: bool) -> str:
    mine, theirs = outcome.first, other.first
    more = theirs.trainable - mine.trainable
    if not before or not mine.trainable or more <= 0 or theirs.changed <= mine.changed:
        return ""
    return f"the model lacks {more} of the {theirs.trainable} trainable tensors that it has after the edit"


def _rounds(outcome: Outcome, other: Outcome, before: bool) -> str:
    mine, theirs = ([step.recomputed for step in run.first.steps] for run in (outcome, other))
    for step, (count, wanted) in enumerate(zip(mine, theirs, strict=False)):
        if wanted and not count and any(mine[:step]):
            return f"checkpointing ceases: nothing is recomputed in step {step + 1} of {len(mine)}"
    return ""


def _agrees(outcome: Outcome, other: Outcome, before: bool) -> str:
    if not before:
        return ""
    for mine, theirs in zip(outcome.losses, other.losses, strict=False):
        if not math.isclose(mine, theirs, rel_tol=SAME_LOSS):
            return f"the loss is {mine:.6g}, and {theirs:.6g} after the edit"
    wrong = [name for name, error in step_errors(outcome, other) if error > 1e-3]
    return f"gradients of {len(wrong)} tensors differ from those after the edit" if wrong else ""


PAIRWISE: dict[str, Callable[[Outcome, Outcome, bool], str]] = {
    "keys": _keys,
    "changed": _changed,
    "unregistered": _unregistered,
    "rounds": _rounds,
    "agrees": _agrees,
}
