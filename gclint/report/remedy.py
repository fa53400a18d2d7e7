"""What to do about a finding that no edit mends."""

from __future__ import annotations

import re

from gclint.finding import Finding
from gclint.report.content import Report

_USE_INSTEAD = re.compile(r"^## Use instead\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def remedy(report: Report, finding: Finding) -> str:
    """Return what helps, in words; for a finding without a fix what its rule's page says to use instead."""
    if finding.help or finding.fixes or finding.code not in report.rules:
        return finding.help
    page = _USE_INSTEAD.search(report.rules[finding.code].docs)
    if page is None:
        return ""
    lines = [line for line in page[1].splitlines() if line.strip() and not line.startswith("```")]
    return "\n".join([f"use instead, for example (`gclint rule {finding.code}` says why):", *lines])
