"""What makes a finished run wrong: each oracle looks at measured numbers and says what failed, or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gclint.verify.outcome import Order, Outcome, Step

TOLERANCE = {"float32": 1e-3, "float64": 1e-6, "bfloat16": 3e-2, "float16": 1e-2}
LATER_STEPS = 30.0
FLOOR = 1e-3


@dataclass(frozen=True)
class Failure:
    """One oracle's complaint, in words."""

    oracle: str
    text: str


def failures(outcome: Outcome, reference: Outcome | None, oracles: Sequence[str]) -> list[Failure]:
    """Return what the named oracles find wrong with a finished run; needs no torch."""
    found = []
    for name in oracles:
        text = ORACLES[name](outcome, reference) if name in ORACLES else ""
        if text:
            found.append(Failure(name, text))
    return found


def gradient_error(outcome: Outcome, reference: Outcome) -> float | None:
    """Return the largest relative error of a first-step gradient; None where none is comparable."""
    pairs = step_errors(outcome, reference)
    return max((error for _, error in pairs), default=None)


def sketch_error(found: Sequence[float], wanted: Sequence[float], scale: float) -> float:
    """Return the estimated norm of the difference of two sketched tensors, relative to the wanted norm.

    A sketch is the norm followed by projections on fixed random signs; the mean square of the projections'
    differences estimates the squared norm of the difference. `scale` is a floor for the denominator.
    """
    if not all(map(math.isfinite, [*found, *wanted])):
        return math.inf
    squares = [(a - b) ** 2 for a, b in zip(found[1:], wanted[1:], strict=False)]
    difference = math.sqrt(sum(squares) / len(squares)) if squares else abs(found[0] - wanted[0])
    return difference / max(wanted[0], scale, 1e-30)


def _scale(step: Step) -> float:
    norms = [each[0] for each in step.gradients.values() if each and math.isfinite(each[0])]
    return FLOOR * max(norms, default=0.0)


def _compare(found: Step, wanted: Step) -> list[tuple[str, float]]:
    scale = _scale(wanted)
    pairs = []
    for name, sketch in wanted.gradients.items():
        other = found.gradients.get(name)
        if sketch is not None and other is not None:
            pairs.append((name, sketch_error(other, sketch, scale)))
    return pairs


def step_errors(outcome: Outcome, other: Outcome) -> list[tuple[str, float]]:
    """Return the relative error of every first-step gradient that both runs have, by name."""
    found, wanted = outcome.first, other.first
    return _compare(found.steps[0], wanted.steps[0]) if found.steps and wanted.steps else []


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _finite(outcome: Outcome, reference: Outcome | None) -> str:
    bad = [each for each in outcome.losses if not math.isfinite(each)]
    return f"the loss is {bad[0]}" if bad else ""


def _trains(outcome: Outcome, reference: Outcome | None) -> str:
    rank = outcome.first
    if rank.step_count and rank.trainable == 0 and rank.frozen:
        return "no parameter is trainable"
    return ""


def _missing(outcome: Outcome, reference: Outcome | None) -> str:
    if not outcome.first.steps:
        return ""
    mine = outcome.first.steps[0].gradients
    if reference is not None and reference.first.steps:
        wanted = reference.first.steps[0].gradients
        names = [name for name, sketch in wanted.items() if sketch is not None and mine.get(name) is None]
        total = sum(sketch is not None for sketch in wanted.values())
    else:
        names = [name for name, sketch in mine.items() if sketch is None]
        total = len(mine)
        if len(names) < total:
            return ""
    return f"{len(names)} of {total} trainable tensors get no gradient ({_names(names)})" if names else ""


def _gradients(outcome: Outcome, reference: Outcome | None) -> str:
    if reference is None:
        return ""
    limit = TOLERANCE.get(outcome.first.precision, 1e-3)
    pairs = zip(outcome.first.steps, reference.first.steps, strict=False)
    for index, (found, wanted) in enumerate(pairs):
        bound = limit if index == 0 else min(0.5, limit * LATER_STEPS)
        wrong = [(name, error) for name, error in _compare(found, wanted) if error > bound]
        if wrong:
            worst = max(error for _, error in wrong)
            names = _names([name for name, _ in wrong])
            size = f"{worst:.0%}" if math.isfinite(worst) else "not finite"
            return f"gradients of {len(wrong)} tensors differ from the reference by up to {size} ({names})"
    return ""


def _ranks(outcome: Outcome, reference: Outcome | None) -> str:
    first = outcome.first
    for other_rank, other in enumerate(outcome.ranks[1:], start=1):
        for index, (mine, theirs) in enumerate(zip(first.steps, other.steps, strict=False)):
            wrong = [name for name, error in _compare(theirs, mine) if error > 1e-4]
            if wrong:
                where = f"rank 0 and rank {other_rank}, step {index + 1}"
                return f"gradients of {len(wrong)} tensors differ between {where} ({_names(wrong)})"
    return ""


def _changed(outcome: Outcome, reference: Outcome | None) -> str:
    rank = outcome.first
    if rank.step_count == 0 or not rank.unchanged or not rank.steps:
        return ""
    if rank.changed == 0:
        return f"none of {rank.trainable} trainable tensors ever changes"
    if reference is None or not reference.first.steps:
        return ""
    wanted = {
        name
        for step in reference.first.steps
        for name, sketch in step.gradients.items()
        if sketch is not None and sketch[0] > _scale(step)
    }
    wanted -= set(reference.first.unchanged)
    names = [name for name in rank.unchanged if name in wanted]
    return f"{len(names)} of {rank.trainable} trainable tensors never change ({_names(names)})" if names else ""


def _moving(outcome: Outcome, reference: Outcome | None) -> str:
    losses = outcome.losses
    if outcome.first.step_count < 3 or len(losses) < 3 or len(set(losses)) > 1:
        return ""
    if reference is not None and len(set(reference.losses)) <= 1:
        return ""
    return f"the loss stays at {losses[0]:.6g} over {outcome.first.step_count} steps"


def _buffers(outcome: Outcome, reference: Outcome | None) -> str:
    if reference is None:
        return ""
    wanted = reference.first.buffers
    wrong = [
        name
        for name, sketch in outcome.first.buffers.items()
        if name in wanted and sketch_error(sketch, wanted[name], 1e-6) > 1e-3
    ]
    return f"buffers differ from the reference after the run ({_names(wrong)})" if wrong else ""


def _uncleared(outcome: Outcome, reference: Outcome | None) -> str:
    for index, step in enumerate(outcome.first.steps):
        if step.uncleared:
            return f"step {index + 1} adds to {step.uncleared} gradients of the step before"
    return ""


def _idle(outcome: Outcome, reference: Outcome | None) -> str:
    steps = outcome.first.steps[: outcome.first.step_count]
    idle = [index for index, step in enumerate(steps) if not step.backwards]
    return f"{len(idle)} of {len(steps)} optimizer steps follow no backward" if idle else ""


def _evaluating(outcome: Outcome, reference: Outcome | None) -> str:
    steps = outcome.first.steps[: outcome.first.step_count]
    late = [index for index, step in enumerate(steps) if set(step.evaluating) - set(steps[0].evaluating)]
    return f"from step {late[0] + 1} on {_names(steps[late[0]].evaluating)} trains in evaluation mode" if late else ""


def _clip(outcome: Outcome, reference: Outcome | None) -> str:
    scaled = any(step.clipped_scaled for step in outcome.first.steps)
    return "gradients are clipped while they are scaled" if scaled else ""


def _probabilities(outcome: Outcome, reference: Outcome | None) -> str:
    for index, step in enumerate(outcome.first.steps):
        if step.probabilities:
            times = "once" if step.probabilities == 1 else f"{step.probabilities} times"
            return f"step {index + 1} gives a loss of raw numbers probabilities, {times}"
    return ""


def _clip_ranks(outcome: Outcome, reference: Outcome | None) -> str:
    for index, steps in enumerate(zip(*(rank.steps for rank in outcome.ranks), strict=False)):
        for norms in zip(*(step.clipped for step in steps), strict=False):
            if max(norms) - min(norms) > 1e-4 * max(norms):
                shown = ", ".join(f"{each:.4g}" for each in norms)
                return f"step {index + 1} clips by another norm on each rank ({shown})"
    return ""


def _order(outcome: Outcome, reference: Outcome | None) -> str:
    last: dict[int, Order] = {}
    for each in outcome.first.orders:
        if each.divided and each.batches > 1 and last.get(each.loader) == each:
            return f"a loader draws its {each.batches} batches in the same order in two epochs"
        last[each.loader] = each
    return ""


def _recompute(outcome: Outcome, reference: Outcome | None) -> str:
    if outcome.first.recomputed == 0 and outcome.first.steps:
        return "nothing was recomputed: checkpointing is not active"
    return ""


def _recompute_off(outcome: Outcome, reference: Outcome | None) -> str:
    count = outcome.first.recomputed
    return f"checkpointing is still active: {count} recomputations" if count else ""


def _environment(outcome: Outcome, reference: Outcome | None) -> str:
    seen: dict[str, str | None] = outcome.first.environment.get("at_import", {})
    now: dict[str, str | None] = outcome.first.environment.get("at_end", {})
    late = [name for name, value in now.items() if value is not None and seen.get(name) != value]
    return f"{_names(late)} set after torch was imported" if late else ""


ORACLES: dict[str, Callable[[Outcome, Outcome | None], str]] = {
    "finite": _finite,
    "trains": _trains,
    "missing": _missing,
    "gradients": _gradients,
    "ranks": _ranks,
    "changed": _changed,
    "moving": _moving,
    "buffers": _buffers,
    "recompute": _recompute,
    "recompute-off": _recompute_off,
    "environment": _environment,
    "uncleared": _uncleared,
    "idle": _idle,
    "evaluating": _evaluating,
    "clip": _clip,
    "order": _order,
    "clip-ranks": _clip_ranks,
    "probabilities": _probabilities,
}
