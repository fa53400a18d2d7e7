"""GitHub's workflow commands: annotations on the lines of a pull request."""

from __future__ import annotations

from gclint.report.content import Report, place_text, severity
from gclint.report.escape import printable
from gclint.report.remedy import notes
from gclint.report.style import Style

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report, style: Style) -> str:
    """Return one workflow command for each finding."""
    lines = []
    for finding in report.findings:
        place = report.shown(finding.location)
        at = report.in_file(finding.location)
        text = "\n".join([f"{place_text(place)}: {finding.code} {finding.message}", *notes(report, finding)])
        lines.append(
            f"::{_COMMANDS[severity(finding)]} title={_property(f'gclint ({finding.code})')},"
            f"file={_property(printable(at.path))},line={at.line},col={at.column},"
            f"endLine={at.end_line},endColumn={at.end_column}::{_data(text)}"
        )
    return "".join(line + "\n" for line in lines)


def _data(text: str) -> str:
    lines = (printable(line) for line in text.replace("%", "%25").split("\n"))
    return "%0A".join(lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
