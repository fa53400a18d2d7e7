"""Two runs compared by what training did in them: step by step, rank by rank, the first difference in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import PurePosixPath

from gclint.finding import Aspect
from gclint.verify.align import aligned
from gclint.verify.oracles import FLOOR, LATER_STEPS, TOLERANCE, sketch_error
from gclint.verify.outcome import Group, Outcome, RankReport, Saved, Step

LATER: frozenset[Aspect] = frozenset(
    {
        "loss",
        "gradients",
        "updates",
        "trained",
        "accumulation",
        "modes",
        "dtypes",
        "random",
        "loaded",
        "backwards",
        "steps",
    }
)  # after these the numbers of later steps differ by themselves
FIRST: frozenset[Aspect] = frozenset({"loss", "modes", "random", "loaded"})  # and after these those of the first step
SAME, SAME_LOSS = 1e-9, 1e-6
_Sketches = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Difference:
    """One part of two signatures that is not equal: which, in words, and whether it is a matter of numbers only.

    `real` marks what a reference run, without checkpointing and data parallelism, does not show.
    """

    aspect: Aspect
    text: str
    numbers: bool = False
    real: bool = False


def went_as_far(run: Outcome, other: Outcome) -> bool:
    """Whether `other` came to its end, or to the exception that `run` ends with too."""
    same = run.raised is not None and other.raised is not None and run.raised.line == other.raised.line
    return other.status == "finished" or same


def differences(
    found: Outcome, wanted: Outcome, intent: Sequence[Aspect] = (), reference: bool = False
) -> list[Difference]:
    """Return in what `found` differs from `wanted` outside the `intent`, the first difference of each aspect.

    As far as `wanted` went: of a run that raised, its steps until then. `reference` says that `wanted` ran without
    checkpointing and data parallelism: what these do is not compared, and numbers may differ in their last digits.
    """
    compare = _Comparison(found, wanted, frozenset(intent), reference)
    first: dict[Aspect, Difference] = {}
    for each in compare.all():
        if each.aspect not in intent:
            first.setdefault(each.aspect, each)
    return list(first.values())


class _Comparison:
    """One pair of runs and what is allowed to differ in them."""

    def __init__(self, found: Outcome, wanted: Outcome, intent: frozenset[Aspect], reference: bool):
        self.found, self.wanted = aligned(found, wanted), wanted
        self.intent, self.reference = intent, reference
        precision = TOLERANCE.get(wanted.first.precision, 1e-3)
        self.limit = 5e-2 if "dtypes" in intent else precision if reference else precision / 10
        self.whole = went_as_far(found, wanted)

    def all(self) -> Iterator[Difference]:
        """Every difference, by rank and step."""
        seen: list[Difference] = []
        for rank, (mine, theirs) in enumerate(zip(self.found.ranks, self.wanted.ranks, strict=False)):
            lead = f"rank {rank}, " if len(self.wanted.ranks) > 1 else ""
            seen += self._steps(mine, theirs, lead)
            if self.whole:
                seen += self._end(mine, theirs, lead)
        yield from seen
        if self.whole and not self.reference and not seen and not self.intent & LATER:
            yield from _files(self.found, self.wanted)

    def _steps(self, mine: RankReport, theirs: RankReport, lead: str) -> Iterator[Difference]:
        pairs = zip(mine.steps, theirs.steps, strict=False)
        for index, (found, wanted) in enumerate(pairs):
            partial = not self.whole and index == len(theirs.steps) - 1
            where = f"{lead}step {index + 1}: "
            for each in self._step(found, wanted, index, partial):
                yield replace(each, text=where + each.text)
        missing = mine.step_count < theirs.step_count or len(mine.steps) < len(theirs.steps)
        if missing or (self.whole and mine.step_count != theirs.step_count):
            text = f"{_counted(mine.step_count, 'optimizer step')}, where it was {theirs.step_count}"
            yield Difference("steps", lead + text)

    def _step(self, found: Step, wanted: Step, index: int, partial: bool) -> Iterator[Difference]:
        """The differences of one step; of a `partial` one, in which the other run ended, only those of its losses."""
        values = self._free_from(index)
        if not partial:
            yield from self._kinds(found, wanted, index)
        if "loss" not in values:
            yield from self._losses(found, wanted, index)
        if partial or ("steps" in self.intent and index):
            return
        if "gradients" not in values:
            yield from self._gradients(found, wanted, index)
        yield from self._updates(found, wanted, index, "updates" in values)
        if "random" not in values:
            yield from _random(found, wanted)

    def _kinds(self, found: Step, wanted: Step, index: int) -> Iterator[Difference]:
        """What differs by more than numbers."""
        if "steps" in self.intent and index:
            return
        yield from _backwards(found, wanted, "modes" in self.intent)
        yield from _modes(found, wanted)
        yield from _dtypes(found, wanted)
        yield from _trained(found, wanted)
        if found.uncleared != wanted.uncleared and not self.intent & {"updates", "steps"}:
            kept = _counted(found.uncleared, "gradient")
            yield Difference("accumulation", f"{kept} left from the step before, where it was {wanted.uncleared}")
        if not self.reference:
            yield from _parallel(found, wanted)

    def _free_from(self, index: int) -> frozenset[str]:
        """Whose numbers the intent leaves free in a step."""
        if index and self.intent & LATER:
            return frozenset({"loss", "gradients", "updates", "random"})
        if self.intent & FIRST:
            return frozenset({"loss", "gradients", "updates", "random"})
        free = {"updates"} if "updates" in self.intent else set()
        if self.intent & {"gradients", "backwards", "trained"}:
            free |= {"gradients", "updates"}
        if "backwards" in self.intent:
            free |= {"loss"}
        return frozenset(free)

    def _bound(self, index: int) -> float:
        return self.limit if index == 0 else min(0.5, self.limit * LATER_STEPS)

    def _loss_bound(self, index: int) -> float:
        """The first loss is that of the same forward: other dtypes and the reference alone change its last digits."""
        return SAME_LOSS if index == 0 and not self.reference and "dtypes" not in self.intent else self._bound(index)

    def _losses(self, found: Step, wanted: Step, index: int) -> Iterator[Difference]:
        for mine, theirs in zip(found.losses, wanted.losses, strict=False):
            alike = mine == theirs or (math.isnan(mine) and math.isnan(theirs))
            if not alike and not abs(mine - theirs) <= self._loss_bound(index) * max(abs(theirs), 1e-6):
                yield Difference("loss", f"the loss is {mine:.6g}, and was {theirs:.6g}", True)
                return

    def _gradients(self, found: Step, wanted: Step, index: int) -> Iterator[Difference]:
        floor = FLOOR * max((each[0] for each in wanted.gradients.values() if each), default=0.0)
        wrong = {}
        for name, sketch in wanted.gradients.items():
            other = found.gradients.get(name)
            if sketch and other and (error := _error(other, sketch, floor)) > self._bound(index):
                wrong[name] = error
        if wrong:
            yield Difference("gradients", f"the gradients of {_some(wrong, len(wanted.gradients))} are others", True)
        elif self._far(found.total_gradient, wanted.total_gradient, index):
            yield Difference("gradients", f"the gradients are others ({_norms(found, wanted)})", True)
        for mine, theirs in zip_longest(found.clipped, wanted.clipped):
            if mine is None or theirs is None:
                kept, was = len(found.clipped), len(wanted.clipped)
                yield Difference("gradients", f"gradients are clipped {_times(kept)}, where it was {_times(was)}")
                return
            if not math.isclose(mine, theirs, rel_tol=max(self._bound(index), SAME), abs_tol=1e-12):
                yield Difference("gradients", f"gradients of norm {mine:.4g} are clipped, and were {theirs:.4g}", True)
                return

    def _updates(self, found: Step, wanted: Step, index: int, free: bool) -> Iterator[Difference]:
        yield from _groups(found.groups, wanted.groups)
        if found.moves is not None and wanted.moves is not None:
            yield from self._moves(found, found.moves, wanted, wanted.moves, index, free)

    def _moves(
        self, found: Step, mine: _Sketches, wanted: Step, theirs: _Sketches, index: int, free: bool
    ) -> Iterator[Difference]:
        still = [name for name in theirs if name not in mine]
        if still and (mine or found.gradients):
            yield Difference("updates", f"{_some(still, len(theirs))} no longer move")
        more = [name for name in mine if name not in theirs]
        if more and (theirs or wanted.gradients):
            yield Difference("updates", f"{_some(more, len(mine))} move, and did not")
        if free:
            return
        large = {name for name, sketch in wanted.gradients.items() if sketch and sketch[0] > self._small(wanted)}
        both = [name for name in theirs if name in mine and (name in large or not wanted.gradients)]
        wrong = [name for name in both if self._far(mine[name], theirs[name], index)]
        if wrong:
            yield Difference("updates", f"{_some(wrong, len(theirs))} move otherwise", True)
        elif not theirs and self._far(found.total_move, wanted.total_move, index):
            yield Difference("updates", "the parameters move otherwise", True)

    def _small(self, step: Step) -> float:
        """The norm below which a gradient is noise that an adaptive optimizer makes large."""
        return (
            FLOOR * max((each[0] for each in step.gradients.values() if each), default=0.0) if self.reference else 0.0
        )

    def _far(self, found: Sequence[float], wanted: Sequence[float], index: int) -> bool:
        if bool(found) != bool(wanted):
            return True
        return bool(wanted) and _error(found, wanted, 0.0) > self._bound(index)

    def _end(self, mine: RankReport, theirs: RankReport, lead: str) -> Iterator[Difference]:
        after = f"{lead}after the last step: "
        for name, value in theirs.planned.items():
            if mine.planned.get(name, value) != value:
                yield Difference("steps", f"{lead}{name} is {mine.planned[name]}, and was {value}")
        if mine.cut != theirs.cut:
            state = "it goes on" if mine.cut else "it comes to its end"
            yield Difference("steps", f"{lead}{state} after {_counted(mine.step_count, 'step')}, and did not")
        free = bool(self.intent & LATER)
        if not mine.cut and not theirs.cut:
            yield from _forwards(mine.rest, theirs.rest, after)
            if not free:
                for each in _random(mine.rest, theirs.rest):
                    yield replace(each, text=after + each.text)
        yield from self._saves(mine.saves, theirs.saves, lead, free)
        yield from _loads(mine, theirs, lead)
        if not free and (not self.reference or lead in ("", "rank 0, ")):
            wrong = [name for name, each in theirs.buffers.items() if self._moved_buffer(mine.buffers.get(name), each)]
            if wrong:
                yield Difference("buffers", f"{after}buffers are others ({_some(wrong)})", True)

    def _moved_buffer(self, found: Sequence[float] | None, wanted: Sequence[float]) -> bool:
        return found is None or _error(found, wanted, 1e-6) > max(self.limit, 1e-3)

    def _saves(self, mine: Sequence[Saved], theirs: Sequence[Saved], lead: str, free: bool) -> Iterator[Difference]:
        for found, wanted in zip_longest(mine, theirs):
            if found is None or wanted is None:
                count = _counted(len(mine), "file of tensors", "files of tensors")
                yield Difference("saved", f"{lead}{count} saved, where it was {len(theirs)}")
                return
            if found.name != wanted.name:
                yield Difference("saved", f"{lead}{found.name} is saved in the place of {wanted.name}")
                return
            lost = [key for key in wanted.keys if key not in set(found.keys)]
            new = [key for key in found.keys if key not in set(wanted.keys)]
            if lost:
                yield Difference("saved", f"{lead}{found.name} lacks {_some(lost, len(wanted.keys), 'value')}")
            elif new:
                yield Difference("saved", f"{lead}{found.name} has {_some(new, len(found.keys), 'value')} more")
            elif not free and self._far(found.values, wanted.values, 1):
                yield Difference("saved", f"{lead}other values are saved in {found.name}", True)


def _backwards(found: Step, wanted: Step, any_mode: bool) -> Iterator[Difference]:
    if found.backwards != wanted.backwards:
        yield Difference("backwards", f"{_counted(found.backwards, 'backward')}, where it was {wanted.backwards}")
    if any_mode:
        found, wanted = (
            replace(each, forwards=(sum(each.forwards[:2]), 0, each.forwards[2])) for each in (found, wanted)
        )
    yield from _forwards(found, wanted, "")


def _forwards(found: Step, wanted: Step, where: str) -> Iterator[Difference]:
    kinds = ("training forwards", "forwards in evaluation mode", "forwards without gradients")
    for kind, mine, theirs in zip(kinds, found.forwards, wanted.forwards, strict=True):
        if mine != theirs:
            yield Difference("forwards", f"{where}{mine} {kind}, where it was {theirs}")
            return


def _trained(found: Step, wanted: Step) -> Iterator[Difference]:
    has = {name for name, each in found.gradients.items() if each is not None}
    had = {name for name, each in wanted.gradients.items() if each is not None}
    lost = [name for name in wanted.gradients if name in had - has]
    if lost:
        yield Difference("lost", f"{_some(lost, len(had))} no longer get a gradient")
    more = [name for name in found.gradients if name in has - had]
    if more:
        yield Difference("trained", f"{_some(more, len(has))} get a gradient, and did not")
    thawed = [name for name in found.gradients if name not in wanted.gradients and name not in has]
    frozen = [name for name in wanted.gradients if name not in found.gradients and name not in had]
    if thawed or frozen:
        state = "are trainable" if thawed else "are frozen"
        yield Difference("trained", f"{_some(thawed or frozen)} {state}, and were not")


def _modes(found: Step, wanted: Step) -> Iterator[Difference]:
    if found.evaluating != wanted.evaluating:
        more = [name for name in found.evaluating if name not in wanted.evaluating]
        less = [name for name in wanted.evaluating if name not in found.evaluating]
        state = "trains in evaluation mode" if more else "trains in training mode"
        named = ", ".join(name or "the model" for name in (more or less)[:3])
        yield Difference("modes", f"{named} {state}, and did not")


def _random(found: Step, wanted: Step) -> Iterator[Difference]:
    names = [name for name in wanted.random if found.random.get(name, wanted.random[name]) != wanted.random[name]]
    if names:
        yield Difference("random", f"other random numbers were drawn ({', '.join(names)})", True)


def _dtypes(found: Step, wanted: Step) -> Iterator[Difference]:
    kinds = {
        name
        for name in {*found.dtypes, *wanted.dtypes}
        if bool(found.dtypes.get(name)) != bool(wanted.dtypes.get(name))
    }
    if kinds:
        mine, theirs = (", ".join(sorted(each.dtypes)) or "none" for each in (found, wanted))
        yield Difference("dtypes", f"dtypes are {mine}, and were {theirs}")


def _parallel(found: Step, wanted: Step) -> Iterator[Difference]:
    if found.collectives != wanted.collectives:
        name = next(
            n
            for n in sorted({*found.collectives, *wanted.collectives})
            if found.collectives.get(n) != wanted.collectives.get(n)
        )
        mine, theirs = found.collectives.get(name, 0), wanted.collectives.get(name, 0)
        yield Difference("collectives", f"{name} is called {_times(mine)}, where it was {_times(theirs)}", real=True)
    if wanted.recomputed and not found.recomputed:
        yield Difference("checkpointing", "nothing is recomputed: checkpointing is off, and was on", real=True)


def _groups(found: Sequence[Group], wanted: Sequence[Group]) -> Iterator[Difference]:
    for number, (mine, theirs) in enumerate(zip_longest(found, wanted), start=1):
        if mine is None or theirs is None:
            text = f"{_counted(len(found), 'parameter group')}, where it was {len(wanted)}"
            yield Difference("updates", f"the optimizer has {text}")
            return
        if mine.optimizer != theirs.optimizer:
            yield Difference("updates", f"the optimizer is {mine.optimizer}, and was {theirs.optimizer}")
            return
        if mine.tensors != theirs.tensors:
            yield Difference(
                "updates", f"the optimizer has {mine.tensors} tensors in group {number}, and had {theirs.tensors}"
            )
            return
        for name, value in theirs.settings.items():
            if not math.isclose(mine.settings.get(name, math.nan), value, rel_tol=1e-6, abs_tol=1e-15):
                now = mine.settings.get(name)
                yield Difference(
                    "updates", f"{name} is {'not set' if now is None else f'{now:.6g}'}, and was {value:.6g}"
                )
                return


def _loads(mine: RankReport, theirs: RankReport, lead: str) -> Iterator[Difference]:
    for found, wanted in zip_longest(mine.keys, theirs.keys):
        if found is None or wanted is None:
            text = f"{_counted(len(mine.keys), 'state dict')} loaded, where it was {len(theirs.keys)}"
            yield Difference("loaded", lead + text)
            return
        if (found.loaded, found.present) != (wanted.loaded, wanted.present):
            text = f"load_state_dict fills {found.loaded} of {found.present} tensors, and filled {wanted.loaded}"
            yield Difference("loaded", lead + text)
            return
    if mine.optimizers_loaded != theirs.optimizers_loaded:
        count = _counted(mine.optimizers_loaded, "optimizer state")
        yield Difference("loaded", f"{lead}{count} loaded, where it was {theirs.optimizers_loaded}")


def _error(found: Sequence[float], wanted: Sequence[float], floor: float) -> float:
    """How far two sketches are apart; those that are not finite are the same where both are so."""
    if not all(map(math.isfinite, wanted)):
        return 0.0 if [*map(str, found)] == [*map(str, wanted)] else math.inf
    return sketch_error(found, wanted, floor)


def _files(found: Outcome, wanted: Outcome) -> Iterator[Difference]:
    """Files that are lost or other; what torch saved is compared by its tensors, whatever else it pickles."""
    saved = {each.name for rank in wanted.ranks for each in rank.saves}
    lost = sorted(name for name in wanted.files if name not in found.files)
    other = sorted(
        name
        for name, digest in wanted.files.items()
        if found.files.get(name, digest) != digest and PurePosixPath(name).name not in saved
    )
    if lost:
        yield Difference("saved", f"{lost[0]} is no longer written", True, True)
    elif other:
        yield Difference("saved", f"{other[0]} has another content", True, True)


def _some(names: Sequence[str] | Mapping[str, object], total: int = 0, kind: str = "parameter") -> str:
    shown = ", ".join(list(names)[:3]) + (", ..." if len(names) > 3 else "")
    return f"{len(names)} of {_counted(total, kind)}: {shown}" if total else shown


def _norms(found: Step, wanted: Step) -> str:
    mine, theirs = (each.total_gradient[0] if each.total_gradient else 0.0 for each in (found, wanted))
    return f"together of norm {mine:.4g}, and were {theirs:.4g}"


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _times(number: int) -> str:
    return "never" if not number else "once" if number == 1 else f"{number} times"
