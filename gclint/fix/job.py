"""What `gclint fix` does: converge in memory, prove if asked, write what stands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gclint.engine import gathered_for, read_beside, report_of
from gclint.files.source import Source
from gclint.finding import Finding
from gclint.fix.choose import Policy
from gclint.fix.converge import Convergence, NotConverging, Refused, converge
from gclint.fix.edits import Chosen
from gclint.fix.proof import Proof, ProofOptions, ProofRequest, verify_fixes
from gclint.fix.write import write_all
from gclint.gather import Batch, Request
from gclint.judge import Judge, Judgement, builtin_judge, judge_batch
from gclint.report.content import Problem, Report
from gclint.selection import ALL

Prove = Callable[[ProofRequest], Sequence[Proof]]


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
    written: bool = False


@dataclass
class _Sums:
    """What the batches add up to."""

    made: Judgement = field(default_factory=Judgement)
    changes: list[tuple[Source, Source]] = field(default_factory=list)
    applied: list[Chosen] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)


def fix(
    request: Request,
    unsafe: bool = False,
    chosen: Mapping[str, str] | None = None,
    write: bool = True,
    proof: ProofOptions | None = None,
    judge: Judge | None = None,
    prove: Prove = verify_fixes,
) -> Outcome:
    """Apply the fixes of everything found in `request`, in memory, and with `write` to the files.

    With `proof` a fix whose verdict is `rejected` is left out. Raises `gclint.config.BadConfig`,
    `gclint.fix.write.NotWritten` and `gclint.fix.proof.ProofUnavailable`; in each case no file is changed.
    """
    judge = judge or builtin_judge()
    gathered = gathered_for(request, judge)
    sums = _Sums()
    for batch in gathered.batches:
        policy = policy_of(batch, unsafe, chosen or {})
        _fix_batch(batch, judge, policy, proof, prove, sums)
    written = write and bool(sums.changes)
    if written:
        write_all([(before, after.data) for before, after in sums.changes])
    report = report_of(gathered, sums.made, judge, {after.path: after for _, after in sums.changes})
    return Outcome(report, tuple(sums.changes), tuple(sums.applied), tuple(sums.refused), tuple(sums.proofs), written)


def policy_of(batch: Batch, unsafe: bool, chosen: Mapping[str, str]) -> Policy:
    """Return what the settings of `batch` and the command line allow to be fixed."""
    settings = batch.settings
    fixable = () if ALL in settings.fixable else settings.fixable
    unfixable = tuple("GCL" if code == ALL else code for code in settings.unfixable)
    return Policy(unsafe or settings.unsafe_fixes, fixable, unfixable, chosen)


def _fix_batch(
    batch: Batch, judge: Judge, policy: Policy, proof: ProofOptions | None, prove: Prove, sums: _Sums
) -> None:
    before: dict[str, Source] = dict(batch.sources)
    last = Judgement()

    def check(changed: Mapping[str, Source]) -> Sequence[Finding]:
        nonlocal last
        last = judge_batch(batch, judge, changed)
        return last.findings

    def read(path: str) -> Source | None:
        source = before.get(path) or read_beside(path, batch.root)
        if source is not None:
            before[path] = source
        return source

    def without(one: Chosen) -> Mapping[str, Source]:
        def accept(other: Chosen) -> bool:
            return _identity(other) != _identity(one)

        return {**before, **converge(check, read, policy, accept).changed}

    try:
        state = converge(check, read, policy)
        if proof and state.applied:
            proofs = list(prove(_proof_request(batch, before, state, proof, without)))
            sums.proofs += proofs
            bad = {(item.finding.key, item.fix) for item in proofs if item.verdict == "rejected"}
            if bad:
                state = converge(check, read, policy, lambda c: (c.finding.key, c.fix.name) not in bad)
    except NotConverging as error:
        sums.made.problems.append(Problem(os.fspath(batch.root), str(error), "please report it"))
        state = Convergence(remaining=last.findings)
    sums.made.findings += state.remaining
    sums.made.problems += last.problems
    sums.changes += [(before[path], source) for path, source in sorted(state.changed.items())]
    sums.changes = [(old, new) for old, new in sums.changes if old.data != new.data]
    sums.applied += state.applied
    sums.refused += state.refused


def _proof_request(
    batch: Batch,
    before: Mapping[str, Source],
    state: Convergence,
    options: ProofOptions,
    without: Callable[[Chosen], Mapping[str, Source]],
) -> ProofRequest:
    after = {**before, **state.changed}
    return ProofRequest(batch.root, batch.settings.target, dict(before), after, state.applied, without, options)


def _identity(chosen: Chosen) -> tuple[str, str, str]:
    """What stays of a fix when other edits move its lines: code, file, name of the fix."""
    return (chosen.finding.code, chosen.finding.location.path, chosen.fix.name)
