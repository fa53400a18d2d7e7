"""How findings are mended, for programs that do it: which first, by which fix, by which command, else how by hand."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from gclint.check.request import project_root
from gclint.check.selection import OWN_RULES, is_optional
from gclint.config import LEVELS
from gclint.finding import Finding, Fix
from gclint.report.content import UNREADABLE, Report, severity
from gclint.report.escape import printable
from gclint.report.remedy import use_instead

_OF_GCLINT = {rule.code for rule in OWN_RULES}


@dataclass(frozen=True)
class Mending:
    """The fix of a finding, and where and how gclint is asked for it."""

    code: str
    fix: Fix
    paths: tuple[str, ...]
    options: tuple[str, ...]

    def command(self, *options: str) -> str:
        """Return the command line that makes this fix and no other, with these options besides."""
        chosen = ("--fixable", self.code, "--choose", f"{self.code}={self.fix.name}")
        return line_of(("fix", *options, *chosen, *self.options), self.paths)


def line_of(words: Sequence[str], paths: Sequence[str]) -> str:
    """Return a command line of gclint, safe to print."""
    apart = ["--"] if any(path.startswith("-") for path in paths) else []
    return printable(shlex.join(["gclint", *words, *apart, *paths]))


def proof_of(report: Report, finding: Finding) -> str:
    """Return the command line that shows whether a finding's edit, or what was done by hand, is right; "" for none."""
    if finding.certainty == "seen":
        return ""
    mending = mending_of(report, finding)
    if mending is not None and finding.code not in _OF_GCLINT:
        return mending.command("--verify", "--diff")
    return line_of(("check", *_turned_on(report, finding), *report.asked.options), paths_of(report, finding))


def by_urgency(report: Report) -> list[Finding]:
    """Return the findings, the one to mend first first: what hides others, what ends the run, what fails in silence,
    what is fragile; what holds always before what has a condition, what has an edit before what has none.
    """
    return sorted(report.findings, key=_urgency)


def mending_of(report: Report, finding: Finding) -> Mending | None:
    """Return how gclint mends a finding: by its first fix that has edits; None where there is none."""
    fix = next((fix for fix in finding.fixes if fix.edits), None)
    if fix is None:
        return None
    options = (*_turned_on(report, finding), *report.asked.options)
    return Mending(finding.code, fix, paths_of(report, finding), options)


def is_asked_for(report: Report, finding: Finding) -> bool:
    """Return whether a finding is told only because it was asked for: what only costs, and rules in preview."""
    return finding.certainty == "costs" or is_optional(report.rules.get(finding.code))


def _turned_on(report: Report, finding: Finding) -> tuple[str, ...]:
    return ("--extend-select", finding.code) if is_asked_for(report, finding) else ()


def paths_of(report: Report, finding: Finding) -> tuple[str, ...]:
    """Return what is named to have a finding again: its file where that is judged within the same project, else all
    that was named.
    """
    path, asked = finding.location.path, report.asked.paths
    directory = os.path.dirname(os.path.abspath(path))
    alone = not asked or project_root(directory, asked) == project_root(directory, (path,))
    return (path,) if alone else asked


def by_hand(report: Report, finding: Finding) -> str:
    """Return what to do where there is no edit: what the finding says, else what its rule's page says; else ""."""
    said = finding.help or "; ".join(fix.title for fix in finding.fixes)
    rule = report.rules.get(finding.code)
    return said or (use_instead(rule) if rule is not None else "")


def _urgency(finding: Finding) -> tuple[object, ...]:
    return (
        finding.code != UNREADABLE,
        LEVELS.index(severity(finding)),
        finding.symptom.startswith("silent"),
        bool(finding.condition),
        not any(fix.edits for fix in finding.fixes),
        finding.key,
    )
