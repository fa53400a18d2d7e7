"""The verdict on an edit, from the runs before and after it. Never claims more than was run.

What training does after the edit has to be what it did before it, or what it does without checkpointing and data
parallelism (the reference of the run before), in everything but the edit's intent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from gclint.finding import Aspect
from gclint.verify.align import aligned
from gclint.verify.oracles import ORACLES, Failure, failures, gradient_error
from gclint.verify.outcome import Evidence, Outcome
from gclint.verify.pairwise import PAIRWISE, worse_than
from gclint.verify.signature import Difference, differences, went_as_far
from gclint.verify.symptom import is_symptom

VerdictName = Literal["confirmed", "passes", "rejected", "unverified"]
FOLLOWING = frozenset({"loss", "gradients", "updates", "random", "buffers", "saved", "accumulation", "trained", "lost"})
BY_FIRST_STEP = ("missing",)
STUCK = ("hung", "timeout", "killed", "not-run")
STATES = {
    "hung": "hung",
    "timeout": "did not end in time",
    "killed": "was killed",
    "not-run": "could not be run",
    "raised": "raised",
    "finished": "finished",
}


@dataclass(frozen=True)
class Claim:
    """What a finding says of the run before an edit, and what its fix may change.

    `symptoms` are texts of exceptions, `oracles` what shows a silent effect (`gclint.verify.oracles`), `intent` the
    parts of the signature that the edit may change (`gclint.finding.Fix`).
    """

    symptoms: tuple[str, ...] = ()
    oracles: tuple[str, ...] = ()
    intent: tuple[Aspect, ...] = ()


NOTHING = Claim()


@dataclass(frozen=True)
class Verdict:
    """`name`, the reason in words, and the weakest evidence of the two runs.

    `before_failure` and `after_failure` are what failed ("" when nothing did); `gradient_error` is the
    largest relative error of the run after against its reference, None when they were not compared.
    """

    name: VerdictName
    reason: str
    evidence: Evidence
    before_failure: str = ""
    after_failure: str = ""
    gradient_error: float | None = None


@dataclass(frozen=True)
class References:
    """The reference runs of before and after; None where there is none."""

    before: Outcome | None = None
    after: Outcome | None = None


@dataclass(frozen=True)
class Runs:
    """The runs of one edit. `again` runs the program as it was before the edit once more, for what is compared by
    numbers only.
    """

    before: Outcome
    after: Outcome
    references: References = References()
    again: Callable[[], Outcome] | None = None

    @property
    def witness(self) -> Outcome | None:
        """What the run after is held against first: the run before where it ended, else its reference."""
        reference = self.references.before
        return next((each for each in (self.before, reference) if each is not None and each.status == "finished"), None)


def judge(runs: Runs, claim: Claim = Claim()) -> Verdict:
    """Return the verdict on the edit between two runs."""
    before, after = runs.before, runs.after
    seen = [_seen(runs, claim, before=each) for each in (True, False)]
    shown, left = ("; ".join(dict.fromkeys(each.text for each in found)) for found in seen)
    remains = {each.oracle for each in seen[0]} & {each.oracle for each in seen[1]}
    symptom = any(_is_foretold(each, claim) for each in seen[0])
    name, reason = _decide(runs, claim, shown, symptom, left if remains else "")
    error = None
    reference = runs.references.after or runs.references.before
    if reference is not None and after.status == "finished":
        error = gradient_error(aligned(after, reference), reference)
    return Verdict(name, reason, _weakest(before, after), shown, left, error)


def _seen(runs: Runs, claim: Claim, before: bool) -> list[Failure]:
    """What one of the runs shows: its exception, or what the claim's oracles see.

    A run that hung, was killed or could not be run has not *shown* a failure: its state is `status`.
    """
    outcome, other = (runs.before, runs.after) if before else (runs.after, runs.before)
    reference = runs.references.before if before else runs.references.after or runs.references.before
    usable = reference if reference is not None and reference.status == "finished" else None
    if outcome.status == "raised" and outcome.raised is not None:
        whole = usable is not None and outcome.first.step_count  # the first step, whatever ends a later one
        early = [name for name in claim.oracles if name in BY_FIRST_STEP] if whole else []
        silent = failures(aligned(outcome, usable), usable, early) if usable is not None and early else []
        return [Failure("raises", outcome.raised.line), *silent]
    if outcome.status != "finished":
        return [Failure("hang", _told(outcome))] if "hang" in claim.oracles and outcome.status == "hung" else []
    mine = aligned(outcome, usable) if usable is not None else outcome
    found = failures(mine, usable, [name for name in claim.oracles if name in ORACLES])
    if other.status == "finished":
        pairwise = [name for name in claim.oracles if name in PAIRWISE]
        found += worse_than(aligned(outcome, other), other, pairwise, before=before)
    return found


def _is_foretold(seen: Failure, claim: Claim) -> bool:
    """Whether what a run shows is what the finding says: what an oracle saw, or its own exception."""
    return seen.oracle != "raises" or any(is_symptom(seen.text, each) for each in claim.symptoms)


def _decide(runs: Runs, claim: Claim, shown: str, symptom: bool, left: str) -> tuple[VerdictName, str]:
    ended = _ended_badly(runs, claim)
    if ended is not None:
        return ended
    wanted = [each for each in (runs.before, runs.references.before) if each is not None]
    usable = [each for each in wanted if _comparable(runs.after, each)]
    brought = unlike(runs.after, usable, claim.intent, runs.references.before)
    if brought:
        return _rejected_for(brought, runs, claim.intent)
    if left and runs.after.status == "finished":
        return "rejected", f"the failure is still there: {left}"
    return _shown(runs, shown, symptom, bool(usable))


def _ended_badly(runs: Runs, claim: Claim) -> tuple[VerdictName, str] | None:
    """The verdict where the run after did not come to the end that the program has without the edit."""
    before, after, reference = runs.before, runs.after, runs.references.before
    forged = [each.forged for outcome in (after, before) for each in outcome.ranks if each.forged]
    if forged:
        return "unverified" if any(each.forged for each in before.ranks) else "rejected", forged[0]
    needed = set(after.first.absent) - set(runs.witness.first.absent) if runs.witness is not None else set()
    if needed:
        return "rejected", f"the edit needs {', '.join(sorted(needed))}, which the run before does without"
    if after.status in STUCK:
        if runs.witness is not None:
            return "rejected", f"the run after the edit {_told(after)}, which it did not before"
        return "unverified", f"the run after the edit {_told(after)}"
    if before.status in STUCK and not ("hang" in claim.oracles and before.status == "hung"):
        return "unverified", f"the run before the edit {_told(before)}"
    if after.status != "raised" or after.raised is None:
        return None
    line = after.raised.line
    if any(is_symptom(line, each) for each in claim.symptoms) and _raises(before, line):
        return "rejected", f"the failure is still there: {line}"
    if _raises(before, line) and (reference is None or _raises(reference, line)):
        return "unverified", f"the program ends so in any case, also without checkpointing and wrappers: {line}"
    if _raises(before, line):
        return "rejected", f"the failure is still there: {line}"
    if reference is not None and _raises(reference, line):
        return None
    if after.evidence != "program" and runs.references.after is not None and _raises(runs.references.after, line):
        return "unverified", f"even without checkpointing and wrappers the model does not run here: {line}"
    if all(each is None or (each.status == "raised" and not each.first.step_count) for each in (before, reference)):
        return "unverified", f"without the edit the program takes no step, and with it neither: {line}"
    return "rejected", f"the run after the edit fails: {line}"


def unlike(
    after: Outcome, wanted: Sequence[Outcome], intent: Sequence[Aspect], reference: Outcome | None
) -> list[Difference]:
    """Return in what a run is like none of the runs it is held against, the first difference of each aspect.

    A run that ended early is compared as far as it went, and excuses nothing. The `reference` excuses only that in
    which the run before is not like it, and nothing that only real runs show.
    """
    by_run = [differences(after, each, intent, each is reference) for each in wanted]
    disputed = _disputed(wanted, reference)
    found: dict[str, Difference] = {}
    for outcome, listed in zip(wanted, by_run, strict=True):
        for each in listed:
            others = [
                differing
                for other, differing in zip(wanted, by_run, strict=True)
                if other is not outcome
                and went_as_far(after, other)
                and (other is not reference or (each.aspect in disputed and not each.real))
            ]
            if not any(all(one.aspect != each.aspect for one in differing) for differing in others):
                found.setdefault(each.aspect, each)
    return list(found.values())


def _disputed(wanted: Sequence[Outcome], reference: Outcome | None) -> set[str]:
    """In what the run before is not as its reference; where its numbers once differ, those that follow may all."""
    found: set[str] = {
        each.aspect
        for outcome in wanted
        if outcome is not reference and reference is not None
        for each in differences(outcome, reference, (), True)
    }
    return found | FOLLOWING if found else found


def _rejected_for(brought: Sequence[Difference], runs: Runs, intent: Sequence[Aspect]) -> tuple[VerdictName, str]:
    """Rejected for the first difference, unless the program as it is differs from itself in the same."""
    numbers = all(each.numbers for each in brought)
    if numbers and runs.again is not None and runs.witness is not None:
        other = runs.again()
        unstable = {each.aspect for each in differences(other, runs.witness, intent)}
        brought_still = [each for each in brought if each.aspect not in unstable]
        if not brought_still:
            return "unverified", f"two runs of the program as it is differ as well: {brought[0].text}"
        brought = brought_still
    return "rejected", f"the edit changes what training does: {brought[0].text}"


def _shown(runs: Runs, shown: str, symptom: bool, compared: bool) -> tuple[VerdictName, str]:
    """The verdict on a run after that is as it should be."""
    before, after = runs.before, runs.after
    if before.status == "raised" and not symptom:
        return "unverified", f"before, the program fails otherwise than the finding says: {shown}"
    if not after.first.step_count and not after.first.steps:
        return "unverified", "no training step was taken"
    limits = tuple(dict.fromkeys((*before.limits, *after.limits)))
    if not symptom:
        if limits:
            told = "; ".join([*limits, *_environment(before, after)])
            return "unverified", f"no failure showed, but not everything was run here: {told}"
        if not _learns(after):
            return "unverified", "no failure showed, but no gradient of these runs is other than zero"
        return "passes", f"no failure on {before.device}, before or after"
    return _confirm(runs, shown, compared, limits)


def _confirm(runs: Runs, shown: str, compared: bool, limits: Sequence[str]) -> tuple[VerdictName, str]:
    after, reference = runs.after, runs.references.after or runs.references.before
    steps = after.first.steps
    if not any(step.gradients and any(step.gradients.values()) for step in steps) or not _learns(after):
        return "unverified", f"before fails ({shown}) and after runs, but nothing gets a gradient"
    if not compared and (reference is None or reference.status != "finished"):
        return "unverified", f"before fails ({shown}) and after runs, but no run tells what its gradients should be"
    if reference is not None and reference.status == "finished":
        wrong = failures(aligned(after, reference), reference, ("finite", "missing", "gradients", "ranks"))
        if wrong:
            return "rejected", f"after the edit {wrong[0].text}"
    told = f"; not run here: {'; '.join(limits)}" if limits else ""
    ends = f"; both end with {after.raised.line}" if after.raised is not None else ""
    return "confirmed", f"before: {shown}; after: clean, {_taken(after)}, gradients match the reference{ends}{told}"


def _learns(outcome: Outcome) -> bool:
    """Whether a gradient is a number other than zero, or none was measured: else nothing can go wrong in training."""
    sketches = [sketch for rank in outcome.ranks for step in rank.steps for sketch in step.gradients.values() if sketch]
    return not sketches or any(math.isfinite(sketch[0]) and sketch[0] for sketch in sketches)


def _comparable(after: Outcome, other: Outcome) -> bool:
    """Whether the run after can be held against another: that ended, or took steps before it raised."""
    return went_as_far(after, other) or (other.status == "raised" and any(rank.steps for rank in other.ranks))


def _raises(outcome: Outcome, line: str) -> bool:
    return outcome.status == "raised" and outcome.raised is not None and outcome.raised.line == line


def _taken(outcome: Outcome) -> str:
    count = outcome.first.step_count or len(outcome.first.steps)
    return f"{count} step{'s' * (count != 1)}"


def _environment(before: Outcome, after: Outcome) -> list[str]:
    """What was seen in real processes of the order of environment and import."""
    told = []
    for when, outcome in (("before", before), ("after", after)):
        seen = outcome.first.environment.get("at_import", {})
        for name, value in outcome.first.environment.get("at_end", {}).items():
            late = "in time for" if seen.get(name) == value else "too late for"
            state = "not set" if value is None else f"set {late} the import of torch"
            told.append(f"{when} the edit {name} is {state}")
    return told


def _told(outcome: Outcome) -> str:
    words = STATES[outcome.status]
    return f"{words}: {outcome.reason}" if outcome.reason else words


def _weakest(before: Outcome, after: Outcome) -> Evidence:
    order: tuple[Evidence, ...] = ("stand-in", "architecture", "program")
    ranks = [order.index(each.evidence) for each in (before, after) if each.status != "not-run"]
    return order[min(ranks, default=0)]
