"""Every way to fix a finding, tried: what it changes, what its proof says, and which is best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gclint.finding import Finding, Fix
from gclint.fix.choose import Policy
from gclint.fix.converge import Convergence
from gclint.fix.edits import Chosen
from gclint.fix.proof import Proof
from gclint.source.source import Source

VERDICTS = ("confirmed", "passes", "unverified", "rejected")
FITS = (True, None, False)
Converged = Callable[[Policy], Convergence]


@dataclass(frozen=True)
class Trial:
    """One fix of a finding: the files it changes (before, after) beside the other fixes, and its proof."""

    chosen: Chosen
    changes: tuple[tuple[Source, Source], ...] = ()
    proof: Proof | None = None

    @property
    def verdict(self) -> str:
        """The verdict, "" when nothing was run."""
        return self.proof.verdict if self.proof is not None else ""


@dataclass
class Offer:
    """A finding, its fixes, and what is known of each so far: nothing, then what it changes, then its figures.

    `attempt` tries a fix, and measures it where that is asked for; nothing is measured without `measures`.
    """

    finding: Finding
    fixes: tuple[Fix, ...]
    attempt: Callable[[Finding, Fix, bool], Trial]
    measures: bool
    trials: tuple[Trial, ...] = ()

    def show(self) -> None:
        """Find out what each fix changes."""
        if not self.trials:
            self.trials = tuple(self.attempt(self.finding, fix, False) for fix in self.fixes)

    def measure(self) -> Iterator[Trial]:
        """Find out the figures of each fix, one after the other."""
        self.show()
        for at, fix in enumerate(self.fixes if self.measures else ()):
            if self.trials[at].proof is None:
                trial = self.attempt(self.finding, fix, True)
                self.trials = (*self.trials[:at], trial, *self.trials[at + 1 :])
                yield trial


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Return trials, the best first: by verdict, fit, memory of the full-size run (else measured), speed."""
    return sorted(trials, key=_rank)


def ways(findings: Iterable[Finding], policy: Policy) -> Iterator[tuple[Finding, tuple[Fix, ...]]]:
    """Yield the findings that may be fixed, in order, with every fix that has edits."""
    for finding in sorted(findings, key=lambda each: each.key):
        fixes = tuple(fix for fix in finding.fixes if fix.edits)
        if fixes and policy.covers(finding):
            yield finding, fixes


def tried(
    finding: Finding,
    fix: Fix,
    policy: Policy,
    converged: Converged,
    before: Mapping[str, Source],
    prove: Callable[[Convergence, Chosen], Sequence[Proof]] | None,
) -> Trial:
    """Return what one fix of a finding does, with everything else as `policy` has it."""
    state = converged(policy.deciding(finding, fix.name))
    alike = [each for each in state.applied if same(each, finding, fix.name)]
    chosen = min(alike, key=lambda each: each.finding.key != finding.key, default=None)
    if chosen is None:
        why = next((each.why for each in state.refused if same(each.chosen, finding, fix.name)), "it cannot be applied")
        return Trial(Chosen(finding, fix), (), Proof(finding, fix.name, "rejected", why))
    alone = converged(policy.deciding(finding, None)).changed
    start = {**before, **alone}
    changes = tuple((start[path], after) for path, after in sorted(state.changed.items()) if start[path] != after)
    found = list(prove(state, chosen)) if prove is not None else []
    proof = replace(found[0], finding=finding) if found else None
    return Trial(Chosen(finding, fix), changes, proof)


def same(chosen: Chosen, finding: Finding, name: str) -> bool:
    """Whether a fix that was applied is the one of this name of this finding, wherever its lines are now."""
    one, other = chosen.finding, finding
    return (one.code, one.location.path, one.message, chosen.fix.name) == (
        other.code, other.location.path, other.message, name,
    )  # fmt: skip


def _rank(trial: Trial) -> tuple[Any, ...]:
    data: Mapping[str, Any] = trial.proof.data if trial.proof is not None else {}
    fit = data.get("fit", {})
    verdict = VERDICTS.index(trial.verdict) if trial.verdict else len(VERDICTS)
    memory = fit.get("total") or _after(data.get("peak_memory_bytes"))
    return verdict, FITS.index(fit.get("fits")), memory, _after(data.get("seconds_per_step"))


def _after(pair: Any) -> float:
    return pair[1] if pair and pair[1] is not None else float("inf")
