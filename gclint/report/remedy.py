"""What stands below a finding's message: what it does, what to do about it, when it is so and for which releases."""

from __future__ import annotations

import re

from gclint.finding import Finding
from gclint.report.content import Report, RuleInfo

_USE_INSTEAD = re.compile(r"^## Use instead\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def use_instead(rule: RuleInfo) -> str:
    """Return what the page of a rule says to write in its place, "" where it does not say."""
    page = _USE_INSTEAD.search(rule.docs)
    return page[1].strip() if page is not None else ""


def remedy(report: Report, finding: Finding) -> str:
    """Return what helps, in words; for a finding without a fix what its rule's page says to use instead."""
    if finding.help or finding.fixes or finding.code not in report.rules:
        return finding.help
    said = use_instead(report.rules[finding.code])
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("```")]
    return said and "\n".join([f"use instead, for example (`gclint rule {finding.code}` says why):", *lines])


def notes(report: Report, finding: Finding) -> list[str]:
    """Return the lines below the message, for what has no layout of its own."""
    told = {
        "Effect": finding.symptom,
        "Help": remedy(report, finding),
        "When": finding.stated.brief if finding.condition else "",
        "Judged for": finding.versions,
        "This run": finding.this_run,
    }
    return [f"{name}: {text}" for name, text in told.items() if text]
