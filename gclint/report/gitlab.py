"""GitLab's code quality report."""

from __future__ import annotations

import json

from gclint.report.content import Report, severity
from gclint.report.fingerprint import fingerprints
from gclint.report.style import Style

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(report: Report, style: Style) -> str:
    """Return an array of issues: `major` for errors, `minor` for warnings, `info` for notes."""
    issues = []
    for finding, mark in fingerprints(report):
        place = report.in_file(finding.location)
        issues.append(
            {
                "check_name": finding.code,
                "description": f"{finding.code}: {finding.told}",
                "severity": _SEVERITIES[severity(finding)],
                "fingerprint": mark,
                "location": {
                    "path": place.path,
                    "positions": {
                        "begin": {"line": place.line, "column": place.column},
                        "end": {"line": place.end_line, "column": place.end_column},
                    },
                },
            }
        )
    return json.dumps(issues, indent=2) + "\n"
