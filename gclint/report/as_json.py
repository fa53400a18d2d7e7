"""The formats `json` and `json-lines`: Ruff's shape, with what gclint knows besides."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from gclint.addresses import page_of
from gclint.finding import Edit, Finding, Fix, Location
from gclint.report.content import Report, severity
from gclint.report.fingerprint import fingerprints
from gclint.report.remedy import remedy
from gclint.report.style import Style

Record = dict[str, Any]


def render(report: Report, style: Style) -> str:
    """Return an array of records, indented by two."""
    return json.dumps(list(_records(report)), indent=2) + "\n"


def render_lines(report: Report, style: Style) -> str:
    """Return one record a line."""
    return "".join(json.dumps(each) + "\n" for each in _records(report))


def _records(report: Report) -> Iterator[Record]:
    """The findings as data, each with what it is known by when its line moves."""
    return ({**record(report, finding), "fingerprint": mark} for finding, mark in fingerprints(report))


def record(report: Report, finding: Finding) -> Record:
    """Return one finding as data: Ruff's keys, then certainty, symptom, condition, related, target,
    versions, alternatives.
    """
    place = report.shown(finding.location)
    fixes = [_fix(report, fix) for fix in finding.fixes]
    return {
        "cell": place.cell,
        "code": finding.code,
        "name": finding.name,
        "severity": severity(finding),
        "message": finding.message,
        "url": page_of(finding.code),
        "filename": filename(report, place.path),
        "location": _point(place.line, place.column),
        "end_location": _point(place.end_line, place.end_column),
        "noqa_row": place.line,
        "fix": fixes[0] if fixes else None,
        "alternatives": fixes[1:],
        "certainty": finding.certainty,
        "symptom": finding.symptom,
        "condition": finding.condition,
        "related": [_related(report, place) for place in finding.related],
        "target": dict(finding.target),
        "versions": versions(report, finding),
        **({"this_run": finding.this_run} if finding.this_run else {}),
        **({"help": helped} if (helped := remedy(report, finding)) else {}),
    }


def versions(report: Report, finding: Finding) -> list[Record]:
    """Return the releases that it was judged for: whether each is known, who says so, and the oldest for which it
    holds as well.
    """
    return [
        {
            "package": each.package,
            "version": each.version or None,
            "known": each.known,
            "source": each.source or None,
            "filename": filename(report, each.path) if each.path else None,
            "row": each.line or None,
            "oldest": each.oldest or None,
        }
        for each in finding.basis
    ]


def filename(report: Report, path: str) -> str:
    """Return the absolute path of a file the report names by `path`."""
    source = report.sources.get(path)
    return str(source.absolute) if source else os.path.abspath(path)


def _fix(report: Report, fix: Fix) -> Record:
    return {
        "name": fix.name,
        "applicability": fix.applicability,
        "message": fix.title,
        "cost": fix.cost,
        "edits": [_edit(report, edit) for edit in fix.edits],
    }


def _edit(report: Report, edit: Edit) -> Record:
    place = report.shown(Location(edit.path, edit.line, edit.column, edit.end_line, edit.end_column))
    return {
        "content": edit.text,
        "filename": filename(report, edit.path),
        "cell": place.cell,
        "location": _point(place.line, place.column),
        "end_location": _point(place.end_line, place.end_column),
    }


def _related(report: Report, related: Location) -> Record:
    place = report.shown(related)
    return {
        "filename": filename(report, place.path),
        "cell": place.cell,
        "location": _point(place.line, place.column),
        "end_location": _point(place.end_line, place.end_column),
        "message": place.message,
    }


def _point(row: int, column: int) -> Record:
    return {"row": row, "column": column}
