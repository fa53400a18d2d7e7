"""What `gclint fix --verify` saw as data: the document that `verification.schema.json` beside this file describes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from gclint.fix.diff import unified_all
from gclint.fix.trials import Trial, ranked
from gclint.report.as_json import record
from gclint.report.proofs import as_data

if TYPE_CHECKING:
    from gclint.fix.job import Outcome


def document(outcome: Outcome) -> dict[str, Any]:
    """Return findings that are left, the proof of every fix, and the ranked alternatives that were tried.

    Bytes, seconds and ratios are plain numbers; what was not measured, or is not finite, is null.
    """
    made = {
        "findings": [record(outcome.report, finding) for finding in outcome.report.findings],
        "verification": [
            {**data, "diff": unified_all(proof.changes)}
            for proof, data in zip(outcome.proofs, as_data(outcome.proofs), strict=True)
        ],
        "alternatives": [_alternatives(trials) for trials in outcome.trials],
    }
    finite: dict[str, Any] = _finite(made)
    return finite


def _finite(data: Any) -> Any:
    """The same data with null for numbers that JSON has not."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def schema() -> dict[str, Any]:
    """Return the JSON schema of `document`."""
    text = resources.files("gclint.report").joinpath("verification.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _alternatives(trials: Sequence[Trial]) -> dict[str, Any]:
    finding = trials[0].chosen.finding
    return {
        "code": finding.code,
        "filename": finding.location.path,
        "row": finding.location.line,
        "ranked": [
            {
                "fix": trial.chosen.fix.name,
                "title": trial.chosen.fix.title,
                "cost": trial.chosen.fix.cost,
                "diff": unified_all(trial.changes),
                "proof": as_data([trial.proof])[0] if trial.proof is not None else None,
            }
            for trial in ranked(trials)
        ],
    }
