"""Findings and texts as JSON objects of bounded length, which say how much they leave out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from gclint.finding import Finding
from gclint.report.agent import brief, code_of, states_of
from gclint.report.content import Report, certainty_of, place_text
from gclint.report.mending import by_hand, is_asked_for, mending_of

Record = dict[str, Any]
MOST_STATES = 6
MOST_ITEMS = 20
MOST_OF_FINDINGS = 16_000


def findings_as_data(
    report: Report, findings: Sequence[Finding], most: int, target: Sequence[str] | None = None, briefly: bool = False
) -> Record:
    """Return the first findings, as many as `most` and as there is room for, and how many `more` there are."""
    shown: list[Record] = []
    length = 0
    for finding in findings[:most]:
        record = _told(report, finding) if briefly else finding_as_data(report, finding, target)
        length += len(json.dumps(record))
        if shown and length > MOST_OF_FINDINGS:
            break
        shown.append(record)
    return {"findings": shown, "more": len(findings) - len(shown)}


def finding_as_data(report: Report, finding: Finding, target: Sequence[str] | None = None) -> Record:
    """Return a finding with the states that made it, and its edit or what to do by hand; without what is empty."""
    states = states_of(report, finding)
    record = {
        **_told(report, finding),
        "effect": brief(finding.symptom, 300),
        "condition": brief(finding.stated.brief, 300),
        "judged_for": brief(finding.versions, 300),
        "this_run": brief(finding.this_run, 300),
        "line": code_of(report, finding.location),
        "states": states[:MOST_STATES],
        "more_states": max(0, len(states) - MOST_STATES),
        "edit": _edit(report, finding, target),
    }
    if record["edit"] is None:
        record["by_hand"] = by_hand(report, finding)[:1000]
    return {name: value for name, value in record.items() if value}


def list_as_data(name: str, items: Iterable[Any]) -> Record:
    """Return the first of the items under `name`, and how many more there are."""
    each = list(items)
    more = {f"more_{name}": len(each) - MOST_ITEMS} if len(each) > MOST_ITEMS else {}
    return {name: each[:MOST_ITEMS], **more}


def text_as_data(name: str, text: str, most: int) -> Record:
    """Return `text` under `name`, of a long one whole lines and how many are left out."""
    if len(text) <= most:
        return {name: text}
    lines = text[:most].split("\n")[:-1]
    return {name: "\n".join(lines) + "\n", "more_lines": text.count("\n") - len(lines)}


def plain(data: Any) -> Any:
    """Return the same data with four digits of each fraction, and null for what JSON has no number for."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain(value) for value in data]
    if isinstance(data, float):
        return float(f"{data:.4g}") if math.isfinite(data) else None
    return data


def _told(report: Report, finding: Finding) -> Record:
    return {
        "code": finding.code,
        "name": finding.name,
        "certainty": certainty_of(finding),
        "place": place_text(report.shown(finding.location)),
        "message": brief(finding.message, 500),
    }


def _edit(report: Report, finding: Finding, target: Sequence[str] | None) -> Record | None:
    mending = mending_of(report, finding)
    if mending is None:
        return None
    fix = mending.fix
    arguments: Record = {"paths": list(mending.paths), "fixable": [finding.code], "choose": {finding.code: fix.name}}
    arguments |= {"extend_select": [finding.code]} if is_asked_for(report, finding) else {}
    record = {
        "fix": fix.name,
        "title": fix.title,
        "cost": fix.cost,
        "needs_judgement": fix.applicability == "unsafe" or not fix.automatic,
        "instead": [{"fix": each.name, "title": each.title} for each in finding.fixes if each is not fix][:4],
        "arguments": arguments | ({"target": list(target)} if target else {}),
    }
    return {name: value for name, value in record.items() if value}
