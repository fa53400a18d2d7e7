"""Markdown for the comment on a pull request: a table, and each finding's effect and fix folded below it."""

from __future__ import annotations

import html

from gclint.finding import Finding
from gclint.report.content import Report, certainty_of, place_text
from gclint.report.escape import printable
from gclint.report.remedy import remedy
from gclint.report.style import Style
from gclint.report.tally import tally


def render(report: Report, style: Style) -> str:
    """Return the comment; one line when there is nothing to say."""
    head = f"### gclint\n\n{tally(report, Style())}\n"
    if not report.findings:
        return head
    rows = [_row(report, finding) for finding in report.findings]
    table = "\n".join(["| | code | place | what happens |", "|---|---|---|---|", *rows])
    details = "\n".join(_details(report, finding) for finding in report.findings)
    return f"{head}\n{table}\n\n{details}"


def _row(report: Report, finding: Finding) -> str:
    place = place_text(report.shown(finding.location))
    return f"| {certainty_of(finding)} | {finding.code} | {_code(place)} | {_text(finding.message)} |"


def _details(report: Report, finding: Finding) -> str:
    place = place_text(report.shown(finding.location))
    lines = [f"<details><summary>{finding.code} at <code>{html.escape(place)}</code></summary>", ""]
    source = printable(report.line_text(finding.location).strip())
    lines += [f"- **Line**: {_code(source)}"] if source else []
    lines += [f"- **Effect**: {_text(finding.symptom)}"] if finding.symptom else []
    lines += [f"- **When**: {_text(finding.stated.brief)}"] if finding.condition else []
    lines += [f"- **Judged for**: {_text(finding.versions)}"] if finding.versions else []
    lines += [f"- **This run**: {_text(finding.this_run)}"] if finding.this_run else []
    lines += [f"- **Help**: {_text(helped)}"] if (helped := remedy(report, finding)) else []
    for related in finding.related:
        lines.append(f"- {_code(place_text(report.shown(related)))}: {_text(related.message)}")
    for fix in finding.fixes:
        cost = f" ({_text(fix.cost)})" if fix.cost else ""
        lines.append(f"- **Fix** ({fix.applicability}, `{fix.name}`): {_text(fix.title)}{cost}")
    return "\n".join([*lines, "", "</details>", ""])


def _text(text: str) -> str:
    escaped = html.escape(printable(text), quote=False)
    return "".join(f"\\{c}" if c in "\\|*_`[]#" else c for c in escaped)


def _code(text: str) -> str:
    """Return `text` as a code span that no backquote or table bar in it can end."""
    return f"<code>{html.escape(text).replace('|', '&#124;').replace('`', '&#96;')}</code>"
