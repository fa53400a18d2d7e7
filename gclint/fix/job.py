"""What `gclint fix` does: converge in memory, prove if asked, write what stands."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from gclint.check.engine import gathered_for, read_beside, report_of
from gclint.check.findings import Judge, Judgement, judge_batch, judge_for
from gclint.check.request import Batch, Request
from gclint.config import ALL
from gclint.finding import Finding, Fix
from gclint.fix.choose import Decision, Policy, check_codes, check_names
from gclint.fix.converge import Convergence, Refused, converge
from gclint.fix.edits import Chosen
from gclint.fix.proof import Proof, ProofOptions, ProofRequest, verify_fixes
from gclint.fix.trials import Offer, Trial, tried, ways
from gclint.fix.write import remove_leftovers, write_all
from gclint.report.content import Report
from gclint.source.source import Source

Prove = Callable[[ProofRequest], Sequence[Proof]]
Ask = Callable[[Sequence[Offer]], Iterable[Decision]]


@dataclass(frozen=True)
class Outcome:
    """What a fix did or, when nothing was written, would do.

    `changes` are the files before and after; `report` is what is left, judged on the files after.
    """

    report: Report
    changes: tuple[tuple[Source, Source], ...] = ()
    applied: tuple[Chosen, ...] = ()
    refused: tuple[Refused, ...] = ()
    proofs: tuple[Proof, ...] = ()
    trials: tuple[tuple[Trial, ...], ...] = ()
    written: bool = False


@dataclass
class _Sums:
    """What the batches add up to."""

    made: Judgement = field(default_factory=Judgement)
    changes: list[tuple[Source, Source]] = field(default_factory=list)
    applied: list[Chosen] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    trials: list[tuple[Trial, ...]] = field(default_factory=list)


def fix(
    request: Request,
    unsafe: bool = False,
    chosen: Mapping[str, str] | None = None,
    write: bool = True,
    proof: ProofOptions | None = None,
    judge: Judge | None = None,
    prove: Prove = verify_fixes,
    alternatives: bool = False,
    ask: Ask | None = None,
) -> Outcome:
    """Apply the fixes of everything found in `request`, in memory, and with `write` to the files.

    With `proof` a fix whose verdict is `rejected` is left out. With `alternatives` every fix of a finding that
    has several is tried; with `ask` each finding's fixes are offered, and it decides which are applied. Raises
    `gclint.config.BadConfig`, `gclint.fix.write.NotWritten` and `gclint.fix.proof.ProofUnavailable`; in each
    case no file is changed.
    """
    chosen = chosen or {}
    sums = _Sums()
    judge = judge or _remembering(judge_for(request))
    gathered = gathered_for(request, judge)
    check_codes(chosen, judge.codes())
    for batch in gathered.batches:
        if write:
            remove_leftovers(batch.sources.values())
        policy = policy_of(batch, unsafe, chosen)
        _fix_batch(_Work(batch, judge, proof, prove), policy, sums, alternatives, ask)
    check_names(chosen, (*sums.made.findings, *(each.finding for each in sums.applied)))
    written = write and bool(sums.changes)
    if written:
        write_all([(before, after.data) for before, after in sums.changes])
    report = report_of(gathered, sums.made, judge, {after.path: after for _, after in sums.changes})
    return Outcome(
        replace(report, asked=request.asked),
        tuple(sums.changes),
        tuple(sums.applied),
        tuple(sums.refused),
        tuple(sums.proofs),
        tuple(sums.trials),
        written,
    )


def _remembering(judge: Judge) -> Judge:
    """The judge, which remembers its walks also where it has no cache: it judges the same files often."""
    return judge if judge.remembers else replace(judge, analyse=partial(judge.analyse, memory=dict[str, str]()))


def policy_of(batch: Batch, unsafe: bool, chosen: Mapping[str, str]) -> Policy:
    """Return what the settings of `batch` and the command line allow to be fixed."""
    settings = batch.settings
    fixable = () if ALL in settings.fixable else settings.fixable
    unfixable = tuple("GCL" if code == ALL else code for code in settings.unfixable)
    return Policy(unsafe or settings.unsafe_fixes, fixable, unfixable, chosen)


def _fix_batch(work: _Work, policy: Policy, sums: _Sums, alternatives: bool, ask: Ask | None) -> None:
    if alternatives or ask is not None:
        offers = list(work.offers(policy, 1 if ask is not None else 2))
        if ask is not None:
            policy = replace(policy, decisions=tuple(ask(offers)), decided_only=True)
        for offer in offers if alternatives else ():
            deque(offer.measure(), maxlen=0)
        sums.trials += [offer.trials for offer in offers if offer.trials]
    state = work.converged(policy)
    if work.proof and state.applied:
        state, proofs = _proved(work, policy, state, work.proof)
        sums.proofs += proofs
    sums.made.findings += state.remaining
    sums.made.problems += work.last.problems
    sums.changes += [(work.before[path], source) for path, source in sorted(state.changed.items())]
    sums.changes = [(old, new) for old, new in sums.changes if old.data != new.data]
    sums.applied += state.applied
    sums.refused += state.refused


def _proved(work: _Work, policy: Policy, state: Convergence, options: ProofOptions) -> tuple[Convergence, list[Proof]]:
    """The files with the fixes whose proofs let them stay, and all proofs.

    What is rejected goes first: the others are proved anew without it, as it may have harmed them.
    """
    out: list[Chosen] = []
    settled: list[Proof] = []
    while state.applied:
        proofs = work.proofs(state, policy, out=out)
        unfit = {"rejected"} if any(each.verdict == "rejected" for each in proofs) else {"unverified"}
        if unfit == {"unverified"} and (options.write_unverified or policy.decided_only):
            unfit = set()
        gone = {_identity(each.finding, each.fix) for each in proofs if each.verdict in unfit}
        bad = [each for each in state.applied if _identity(each.finding, each.fix.name) in gone]
        if not bad:
            return state, settled + proofs
        settled += [each for each in proofs if _identity(each.finding, each.fix) in gone]
        out += bad
        state = work.converged(policy, out)
    return state, settled


class _Work:
    """One project's files as they are, and what fixes make of them. `last` is the last judgement made."""

    def __init__(self, batch: Batch, judge: Judge, proof: ProofOptions | None, prove: Prove):
        self.batch, self.judge, self.proof, self._prove = batch, judge, proof, prove
        self.before: dict[str, Source] = dict(batch.sources)
        self.last = Judgement()
        self._judged: dict[frozenset[tuple[str, bytes]], Judgement] = {}

    def converged(self, policy: Policy, without: Iterable[Chosen] = ()) -> Convergence:
        """The files with every fix that the policy picks, but those of `without`."""
        return converge(self._check, self._read, policy, without)

    def proofs(
        self, state: Convergence, policy: Policy, only: Chosen | None = None, out: Sequence[Chosen] = ()
    ) -> list[Proof]:
        """The verdicts on the fixes of a state (on `only` one) that has those of `out` left out, with their changes."""
        request = self._request(state, policy, only, out)
        applied = {_identity(each.finding, each.fix.name): each for each in request.applied}
        return [
            replace(proof, changes=_changes(request, applied[_identity(proof.finding, proof.fix)]))
            for proof in self._prove(request)
        ]

    def _request(self, state: Convergence, policy: Policy, only: Chosen | None, out: Sequence[Chosen]) -> ProofRequest:
        known: dict[tuple[Chosen, ...], Mapping[str, Source]] = {}

        def without(some: tuple[Chosen, ...]) -> Mapping[str, Source]:
            if some not in known:
                known[some] = {**self.before, **self.converged(policy, (*out, *some)).changed}
            return known[some]

        settings, after = self.batch.settings, {**self.before, **state.changed}
        applied = state.applied if only is None else [only]
        options = self.proof or ProofOptions()
        return ProofRequest(self.batch.root, settings.target, dict(self.before), after, applied, without, options)

    def offers(self, policy: Policy, least: int) -> Iterator[Offer]:
        """The fixes of each finding that has at least `least`, each to be tried beside the fixes of the others."""

        def attempt(finding: Finding, fix: Fix, measured: bool) -> Trial:
            decided = policy.deciding(finding, fix.name)

            def proved(state: Convergence, chosen: Chosen) -> Sequence[Proof]:
                return self.proofs(state, decided, chosen)

            return tried(finding, fix, policy, self.converged, self.before, proved if measured else None)

        for finding, fixes in ways(self._check({}), policy):
            if len(fixes) >= least:
                yield Offer(finding, fixes, attempt, self.proof is not None)

    def _check(self, changed: Mapping[str, Source]) -> Sequence[Finding]:
        texts = frozenset((path, source.data) for path, source in changed.items())
        if texts not in self._judged:
            self._judged[texts] = judge_batch(self.batch, self.judge, changed)
        self.last = self._judged[texts]
        return self.last.findings

    def _read(self, path: str) -> Source | None:
        source = self.before.get(path) or read_beside(path, self.batch.root)
        if source is not None:
            self.before[path] = source
        return source


def _changes(request: ProofRequest, chosen: Chosen) -> tuple[tuple[Source, Source], ...]:
    """The files that one fix changes, with all others in place: before and after it."""
    start = request.without((chosen,))
    paths = sorted(path for path, source in request.after.items() if start[path].data != source.data)
    return tuple((start[path], request.after[path]) for path in paths)


def _identity(finding: Finding, fix: str) -> tuple[object, ...]:
    return (*finding.key, fix)
