"""SARIF 2.1.0, within the limits of GitHub's code scanning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

import gclint
from gclint.addresses import HOME, page_of
from gclint.check.selection import is_optional
from gclint.config import LEVELS
from gclint.finding import Edit, Finding, Fix, Location
from gclint.report.content import Report, severity
from gclint.report.fingerprint import fingerprints
from gclint.report.remedy import notes
from gclint.report.style import Style

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 25_000
_MOST_TEXT = 1024
_IN_A_LINK = str.maketrans({character: f"\\{character}" for character in "[]\\"})
Record = dict[str, Any]


def render(report: Report, style: Style) -> str:
    """Return a log with one run; at most `MOST_RESULTS` findings, errors before warnings before notes."""
    marked = _most_severe(fingerprints(report))
    codes = sorted({finding.code for finding, _ in marked})
    names = {finding.code: finding.name for finding, _ in marked}
    index = {code: number for number, code in enumerate(codes)}
    run: Record = {
        "tool": {
            "driver": {
                "name": "gclint",
                "informationUri": HOME,
                "version": gclint.__version__,
                "semanticVersion": gclint.__version__,
                "rules": [_rule(report, code, names[code]) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(report, finding, mark, index[finding.code]) for finding, mark in marked],
        "invocations": [_invocation(report)],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _most_severe(marked: Sequence[tuple[Finding, str]]) -> Sequence[tuple[Finding, str]]:
    """Return what code scanning takes, in the order of the report."""
    if len(marked) <= MOST_RESULTS:
        return marked
    kept = sorted(range(len(marked)), key=lambda at: (LEVELS.index(severity(marked[at][0])), at))[:MOST_RESULTS]
    return [marked[at] for at in sorted(kept)]


def _rule(report: Report, code: str, name: str) -> Record:
    rule = report.rules.get(code)
    docs = rule.docs if rule else name.replace("-", " ")
    short = (rule.summary if rule else docs)[:_MOST_TEXT]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in name.split("-")),
        "shortDescription": {"text": short},
        "fullDescription": {"text": short},
        "help": {"text": docs.strip(), "markdown": docs.strip()},
        **({"helpUri": page} if (page := page_of(code)) else {}),
        **({"defaultConfiguration": {"enabled": False}} if is_optional(rule) else {}),
    }


def _result(report: Report, finding: Finding, mark: str, index: int) -> Record:
    result: Record = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": severity(finding),
        "message": {"text": _message(report, finding)},
        "locations": [_location(report, finding.location)],
        "partialFingerprints": {"primaryLocationLineHash": mark},
        "properties": _properties(finding),
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(report, place)} for number, place in enumerate(finding.related, start=1)
        ]
    fixes = [_fix(report, fix) for fix in finding.fixes if fix.edits and not _in_notebook(report, fix)]
    if fixes:
        result["fixes"] = fixes
    return result


def _properties(finding: Finding) -> Record:
    properties: Record = {"certainty": finding.certainty, "target": dict(finding.target)}
    properties["versions"] = [{key: told for key, told in asdict(each).items() if told != ""} for each in finding.basis]
    return {**properties, "condition": finding.condition} if finding.condition else properties


def _message(report: Report, finding: Finding) -> str:
    parts = [finding.message, *notes(report, finding)]
    parts += [f"Other places: {', '.join(_links(finding))}"] if finding.related else []
    return "\n".join(parts)


def _links(finding: Finding) -> Iterator[str]:
    """Yield links to the related locations: code scanning shows only those that the message has a link to."""
    for number, place in enumerate(finding.related, start=1):
        text = place.message or place.path
        yield f"[{text.translate(_IN_A_LINK)}]({number})"


def _location(report: Report, place: Location) -> Record:
    shown, at = report.shown(place), report.in_file(place)
    message = place.message
    if shown.cell is not None:
        message = f"cell {shown.cell}" + (f": {message}" if message else "")
    location: Record = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri(place.path)},
            "region": _region(at.line, at.column, at.end_line, at.end_column),
        }
    }
    return {**location, "message": {"text": message}} if message else location


def uri(path: str) -> str:
    """Return `path` as a URI reference: relative where it is relative, every special character encoded."""
    slashed = path.replace("\\", "/")
    quoted = quote(slashed.encode("utf-8", "surrogateescape"), safe="/")
    return f"file://{quoted}" if slashed.startswith("/") else quoted


def _region(line: int, column: int, end_line: int, end_column: int) -> Record:
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _in_notebook(report: Report, fix: Fix) -> bool:
    """Return whether the fix edits a notebook, whose lines are none of the file's own."""
    sources = [report.sources.get(edit.path) for edit in fix.edits]
    return any(source is not None and source.notebook is not None for source in sources)


def _fix(report: Report, fix: Fix) -> Record:
    by_path: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        by_path.setdefault(edit.path, []).append(edit)
    return {
        "description": {"text": fix.title},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": uri(path)},
                "replacements": [
                    {
                        "deletedRegion": _region(edit.line, edit.column, edit.end_line, edit.end_column),
                        "insertedContent": {"text": edit.text},
                    }
                    for edit in edits
                ],
            }
            for path, edits in sorted(by_path.items())
        ],
    }


def _invocation(report: Report) -> Record:
    notes = [{"level": "error", "message": {"text": str(problem)}} for problem in report.problems]
    invocation: Record = {"executionSuccessful": not report.failed}
    return {**invocation, "toolExecutionNotifications": notes} if notes else invocation
