"""# clip-without-effect (GCL820)

## What it does
Finds clipping of gradients that no step uses: behind the step, or before the backward that makes them, such as in a
LightningModule's `training_step`. A function of the project that multiplies gradients by what it computed from them
clips as torch's does.

## Why it breaks
Gradients live from a backward to the next time that they are cleared. Clipped after the step, they are cleared before
the next one uses them; clipped before the backward, there are none: either way every step takes the gradients as they
came, and nothing limits the training. Nothing fails, and a norm that is logged is that of other gradients, or 0.

## Example
```python
for batch, target in loader:
    optimizer.zero_grad()
    criterion(model(batch), target).backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
```

## Use instead
```python
    criterion(model(batch), target).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
```

## When it is fine
Clipped between backward and step; clipped twice, once of that in the right place; gradients that nothing clears between
the rounds; an infinite limit, for the norm alone.

## Evidence
torch 2.13.0: with SGD at a rate of 1 and a limit of 0.1, a step behind which gradients are clipped, or before whose
backward they are, moves the weights by 10 times their inputs, one in the right place by 0.1 in all.
jongwook/onsets-and-frames#24, VGraphRNN/VGRNN#4, awslabs/graphstorm#1366, Cranial-XIX/FAMO#4,
simchowitzlabpublic/nano-world-model#22.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gclint.finding import Aspect, Finding, Fix
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, Backward, Event, GradientsCleared, GradientsClipped, OptimizerStep, RunEnded
from gclint.run.guards import Guard, compatible, complement, conj
from gclint.run.parallel import inside, models_of
from gclint.run.parts_of_guards import without_tacit
from gclint.run.run import Run
from gclint.run.values import NOTHING, Object

from ..words import LEARNS

CHANGES: tuple[Aspect, ...] = ("gradients", "updates")
EMPTY = "the gradients are cleared before this, and made after it: it clips nothing"
LATE = "the step comes before this, and what it clips is cleared before the next: no step is limited"

rule = Rule(
    code="GCL820",
    name="clip-without-effect",
    docs=__doc__ or "",
    words=(("clip_grad_", "mul_"), LEARNS),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("gradients",),
    reproduction=Reproduction(
        "bad_after_the_step.py",
        "bad_after_the_step.fixed.py",
        raises="AssertionError: the step is not limited",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def limits_no_step(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Are gradients clipped where no step uses them any more, or where there are none yet?"""
    clips: dict[int, GradientsClipped] = {}
    for clip in run.of_type(GradientsClipped) if event.whole else ():
        if clips.setdefault(clip.site.node_id, clip) is not clip:
            continue  # another round, which is like the first
        around = _round(clip, run)
        lost = _without_use(clip, around)
        if lost is None or _measures(clip):
            continue
        others = [each for each in around if isinstance(each, GradientsClipped) and each is not clip]
        steps = [each for each in around if isinstance(each, OptimizerStep) and compatible(lost.guard, each.guard)]
        if not (steps if lost.message is LATE else any(isinstance(each, Backward) for each in around)):
            continue
        if any(_without_use(each, around) is None for each in others):
            continue
        yield rule.finding(
            run,
            clip.site,
            lost.message,
            guard=next((way for each in steps if (way := conj(lost.guard, each.guard)) is not None), lost.guard),
            certainty="fragile",
            symptom="silent: gradients of any size are stepped by",
            related=[
                *((each.site, "the step") for each in steps[:1]),
                (lost.cleared.site, "the gradients are cleared here"),
            ],
            fixes=[_between(clip, each, around) for each in steps[:1]],
        )


class _Lost(NamedTuple):
    """Why a clip limits no step: what clears the gradients, and the guard under which it does."""

    message: str
    cleared: GradientsCleared
    guard: Guard


def _round(clip: GradientsClipped, run: Run) -> list[Event]:
    """What happens to the gradients that are clipped in a round of the innermost loop around, in order, at each place
    to each thing once; what happens to those of models that are not known among it.
    """
    loops, models = clip.moment.loops, models_of(clip.parameters)
    found: dict[tuple[type, int, Object | None], Event] = {_key(clip): clip}
    kinds = (AttributeSet, Backward, GradientsCleared, GradientsClipped, OptimizerStep)
    for each in run.of_type(*kinds) if loops else ():
        of = _models(each)
        if isinstance(each, AttributeSet) and each.name != "grad":
            continue
        if each.moment.loops[: len(loops)] == loops and (not of or not of.isdisjoint(models)):
            found.setdefault(_key(each), each)
    return sorted(found.values(), key=run.place) if models else []


def _key(event: Event) -> tuple[type, int, Object | None]:
    of = event.target if isinstance(event, GradientsCleared) else getattr(event, "optimizer", None)
    return type(event), event.site.node_id, of


def _models(event: Event) -> set[Object]:
    """The models whose gradients an event is about; none where they are not known, as of a loss, which may come of more
    models than are seen.
    """
    if isinstance(event, OptimizerStep):
        return set(models_of(event.optimizer.attributes.get("params", NOTHING)))
    if isinstance(event, GradientsClipped):
        return set(models_of(event.parameters))
    if isinstance(event, GradientsCleared) and not _is_by_hand(event):
        held = models_of(event.target.attributes.get("params", NOTHING))
        return set(held) if event.target.kind == "optimizer" else {inside(event.target)}
    return set()


def _makes(event: Event) -> bool:
    """Whether gradients may come to be: by a backward, or by hand."""
    return isinstance(event, (AttributeSet, Backward)) or (isinstance(event, GradientsCleared) and _is_by_hand(event))


def _is_by_hand(event: GradientsCleared) -> bool:
    """Whether a gradient itself is set, to whatever it may be."""
    return event.target.text.endswith((".grad", ".grad.data"))


def _without_use(clip: GradientsClipped, around: list[Event]) -> _Lost | None:
    """Whether gradients are cleared between a backward and a clip, or between it and the next step; None where a step
    uses what is clipped.
    """
    if clip not in around:
        return None
    at = around.index(clip)
    after = [*around[at + 1 :], *around[:at]]
    return _cleared_first(clip, after[::-1], EMPTY) or _cleared_first(clip, after, LATE)


def _cleared_first(clip: GradientsClipped, events: Iterable[Event], message: str) -> _Lost | None:
    """What clears the last of the gradients in every round, where that comes before anything that may make them, or
    step by them: of optimizers that are made on one way only, where they are.
    """
    left, held, passed = set(models_of(clip.parameters)), clip.guard, list[Event]()
    for each in events:
        if _makes(each) if message is EMPTY else isinstance(each, OptimizerStep):
            passed.append(each)
        whole = conj(held, each.target.born) if isinstance(each, GradientsCleared) else None
        if not isinstance(each, GradientsCleared) or whole is None or left.isdisjoint(_models(each)):
            continue
        if not compatible(whole, complement(without_tacit(each.guard))):
            left, held = left - _models(each), whole
        if not left:
            return None if any(compatible(held, before.guard) for before in passed) else _Lost(message, each, held)
    return None


def _measures(clip: GradientsClipped) -> bool:
    """Whether nothing is limited: the norm alone is asked for."""
    return clip.call is not None and clip.call.get("max_norm", 1).constant() == float("inf")


def _between(clip: GradientsClipped, step: OptimizerStep, around: list[Event]) -> Fix | None:
    """Clip right before the step, or right after the last backward where that comes later, with the `if` that is around
    the clipping alone; in the same block.
    """
    module, line = clip.site.module, clip.site.module.statement(clip.site.node)
    added = [each.site for each in around[: around.index(step)] if isinstance(each, Backward)]
    if module is not step.site.module or step.scaler is not None or not isinstance(line, ast.Expr) or not added:
        return None
    above = module.parents.get(line)
    if isinstance(above, ast.If) and above.body == [line] and not above.orelse:
        line = above
    first, last = module.statement(step.site.node), added[-1].module.statement(added[-1].node)
    edits = rewrite.move_before(module, line, first) if first is not None else []
    if not edits and last is not None and last is not first:
        edits = rewrite.move_after(module, line, last)
    return Fix("before-step", "Clip before the step", tuple(edits), "unsafe", intent=CHANGES) if edits else None
