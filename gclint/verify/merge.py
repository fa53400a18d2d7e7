"""The ranks' reports of one run, merged into its outcome."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from gclint.verify.outcome import Outcome, Raised, RankReport, Status


def merge(ranks: Sequence[RankReport]) -> Outcome:
    """Return the outcome of a run from its ranks' reports (rank 0 first)."""
    culprit = _culprit(ranks)
    status, reason = _status(ranks, culprit)
    first = ranks[0]
    return Outcome(
        status=status,
        reason=reason,
        raised=culprit,
        evidence=first.evidence,
        model=first.model,
        device=first.device,
        world_size=len(ranks),
        versions=dict(first.versions),
        limits=tuple(dict.fromkeys(limit for rank in ranks for limit in rank.limits)),
        replaced=tuple(dict.fromkeys(each for rank in ranks for each in rank.replaced)),
        ranks=tuple(ranks),
        peak_bytes=max((each.peak_bytes for each in ranks if each.peak_bytes is not None), default=None),
        saved_bytes=max((each.saved_bytes for each in ranks if each.saved_bytes is not None), default=None),
        seconds_per_step=_seconds_per_step(first),
        seconds=max(each.seconds for each in ranks),
        files=dict(first.files),
    )


def _culprit(ranks: Sequence[RankReport]) -> Raised | None:
    raised = [each.raised for each in ranks if each.raised is not None]
    return next((each for each in raised if not each.secondary), None)


def _status(ranks: Sequence[RankReport], culprit: Raised | None) -> tuple[Status, str]:
    for index, rank in enumerate(ranks):
        if rank.status == "not-run":
            return "not-run", rank.reason
        if rank.status == "killed":
            return "killed", f"rank {index}: {rank.reason}" if len(ranks) > 1 else rank.reason
    if culprit is not None:
        return "raised", culprit.line
    late = [index for index, each in enumerate(ranks) if each.status in ("timeout", "hung")]
    waiting = [index for index, each in enumerate(ranks) if each.raised is not None and each.raised.secondary]
    stuck = sorted({*waiting, *(index for index in late if ranks[index].status == "hung")})
    if stuck:
        names = f"rank{'s' * (len(stuck) > 1)} {' and '.join(map(str, stuck))}"
        told = "; ".join(f"rank {index} {ranks[index].reason}" for index in late)
        said = f"{names} waited in a collective that another rank never joined"
        return "hung", f"{said} ({told})" if told else said
    if late:
        return "timeout", ranks[late[0]].reason
    return "finished", ""


def _seconds_per_step(rank: RankReport) -> float | None:
    seconds = [step.seconds for step in rank.steps]
    later = seconds[1:] or seconds
    return statistics.median(later) if later else None
