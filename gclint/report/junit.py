"""JUnit XML: a test suite for each file, a failed test case for each finding, a skipped one for each note."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from gclint.finding import Finding
from gclint.report.content import Report, severity
from gclint.report.escape import printable
from gclint.report.remedy import notes
from gclint.report.style import Style

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, style: Style) -> str:
    """Return the XML; a report without findings has one passing test case."""
    suites = [
        _suite(report, path, list(group)) for path, group in groupby(report.findings, key=lambda f: f.location.path)
    ]
    if not suites:
        suites = [
            '<testsuite name="gclint" tests="1" disabled="0" errors="0" failures="0" package="org.gclint">\n'
            '<testcase name="No findings" classname="gclint" time="0.000"/>\n</testsuite>'
        ]
    total, failed = len(report.findings), _failed(report.findings)
    head = f'<testsuites name="gclint" tests="{total}" failures="{failed}" errors="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"]) + "\n"


def _suite(report: Report, path: str, findings: list[Finding]) -> str:
    cases = []
    for finding in findings:
        place = report.shown(finding.location)
        cell = f"cell {place.cell}, " if place.cell is not None else ""
        lines = [f"{cell}line {place.line}, col {place.column}, {finding.message}"]
        lines += notes(report, finding)
        body = "\n".join(_NOT_XML.sub("", printable(line)) for line in lines)
        outcome = "failure" if severity(finding) != "note" else "skipped"
        cases.append(
            f"<testcase name={_attribute(f'org.gclint.{finding.code}')} classname={_attribute(path)} "
            f'line="{place.line}" column="{place.column}">'
            f"<{outcome} message={_attribute(finding.message)}>{escape(body)}</{outcome}></testcase>"
        )
    count, failed = len(findings), _failed(findings)
    skipped = f' skipped="{count - failed}"' if count > failed else ""
    head = (
        f'<testsuite name={_attribute(path)} tests="{count}" disabled="0" errors="0" '
        f'failures="{failed}"{skipped} package="org.gclint">'
    )
    return "\n".join([head, *cases, "</testsuite>"])


def _failed(findings: Iterable[Finding]) -> int:
    return sum(severity(finding) != "note" for finding in findings)


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("", printable(text)))
