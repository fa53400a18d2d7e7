"""The verdict on an edit, from the runs before and after it. Never claims more than was run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gclint.verify.align import aligned
from gclint.verify.oracles import DEFAULT, Failure, failures, gradient_error
from gclint.verify.outcome import Evidence, Outcome
from gclint.verify.pairwise import worse_than

VerdictName = Literal["confirmed", "passes", "rejected", "unverified"]
INCONCLUSIVE = ("hung", "timeout", "killed", "not-run")


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


def judge(
    before: Outcome,
    after: Outcome,
    references: References | None = None,
    oracles: Sequence[str] = DEFAULT,
) -> Verdict:
    """Return the verdict; see `Verdict` and the rules in the functions below."""
    references = references or References()
    wrong_before = failure_of(before, references.before, oracles)
    wrong_after = failure_of(after, references.after, oracles)
    if before.status == after.status == "finished":
        wrong_before = _joined(wrong_before, worse_than(aligned(before, after), after, oracles, before=True))
        wrong_after = _joined(wrong_after, worse_than(after, before, oracles, before=False))
    name, reason = _decide(before, after, wrong_before, wrong_after, references.after)
    error = None
    if references.after is not None and after.status == "finished":
        error = gradient_error(aligned(after, references.after), references.after)
    return Verdict(name, reason, _weakest(before, after), wrong_before, wrong_after, error)


def failure_of(outcome: Outcome, reference: Outcome | None, oracles: Sequence[str] = DEFAULT) -> str:
    """Return what is wrong with a run in words, "" for a clean one.

    A run that hung, was killed or could not be run has not *shown* a failure: its state is `status`.
    """
    if outcome.status == "raised" and outcome.raised is not None:
        return outcome.raised.line
    if outcome.status != "finished":
        return ""
    usable = reference if reference is not None and reference.status == "finished" else None
    if usable is not None:
        outcome = aligned(outcome, usable)
    return "; ".join(each.text for each in failures(outcome, usable, oracles))


def _joined(text: str, more: list[Failure]) -> str:
    return "; ".join([text] * bool(text) + [each.text for each in more])


def _decide(
    before: Outcome, after: Outcome, wrong_before: str, wrong_after: str, reference: Outcome | None
) -> tuple[VerdictName, str]:
    if after.status in INCONCLUSIVE:
        return "unverified", f"the run after the edit {_told(after)}"
    if after.status == "raised" and after.evidence != "program" and _raised(reference):
        return (
            "unverified",
            f"even without checkpointing and wrappers the model does not run here: {wrong_after}",
        )
    if after.evidence == "program" and _ends_alike(before, after, reference):
        return "unverified", f"the program ends so in any case, also without checkpointing and wrappers: {wrong_after}"
    if wrong_after:
        same = wrong_after == wrong_before
        lead = "the failure is still there" if same else "the run after the edit fails"
        return "rejected", f"{lead}: {wrong_after}"
    if before.status in INCONCLUSIVE:
        return "unverified", f"the run before the edit {_told(before)}"
    if not wrong_before:
        limits = (*before.limits, *(each for each in after.limits if each not in before.limits))
        if limits:
            told = "; ".join([*limits, *_environment(before, after)])
            return "unverified", f"no failure showed, but not everything was run here: {told}"
        if reference is not None and reference.status != "finished":
            return "unverified", f"no failure showed, but the reference run {_told(reference)}"
        return "passes", f"no failure on {before.device}, before or after"
    return _confirm(before, wrong_before, after, reference)


def _confirm(before: Outcome, wrong: str, after: Outcome, reference: Outcome | None) -> tuple[VerdictName, str]:
    if reference is None or reference.status != "finished":
        why = "there is no reference run" if reference is None else f"the reference run {_told(reference)}"
        return "unverified", f"before fails ({wrong}) and after runs, but {why} to compare gradients with"
    if not after.first.steps:
        return "unverified", f"before fails ({wrong}) and after runs, but takes no optimizer step"
    limits = f"; not run here: {'; '.join(after.limits)}" if after.limits else ""
    return "confirmed", f"before: {wrong}; after: clean, gradients match the reference{limits}"


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


def _raised(reference: Outcome | None) -> bool:
    return reference is not None and reference.status == "raised"


def _ends_alike(before: Outcome, after: Outcome, reference: Outcome | None) -> bool:
    raised = [None if each is None or each.raised is None else each.raised.line for each in (before, after, reference)]
    return raised[0] is not None and raised.count(raised[0]) == len(raised)


def _told(outcome: Outcome) -> str:
    words = {
        "hung": "hung",
        "timeout": "did not end in time",
        "killed": "was killed",
        "not-run": "could not be run",
        "raised": "raised",
        "finished": "finished",
    }[outcome.status]
    return f"{words}: {outcome.reason}" if outcome.reason else words


def _weakest(before: Outcome, after: Outcome) -> Evidence:
    order: tuple[Evidence, ...] = ("stand-in", "architecture", "program")
    ranks = [order.index(each.evidence) for each in (before, after) if each.status != "not-run"]
    return order[min(ranks, default=0)]
