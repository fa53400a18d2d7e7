"""The format for people: every finding with its source lines, its effect, its condition and its fixes."""

from __future__ import annotations

from gclint.finding import Finding, Fix
from gclint.report.columns import wrapped
from gclint.report.content import Report, certainty_of, level_of_certainty, severity
from gclint.report.escape import printable
from gclint.report.frame import frames
from gclint.report.remedy import remedy
from gclint.report.style import COLOURS, Style
from gclint.report.tally import tally


def render(report: Report, style: Style) -> str:
    """Return the report: a block for each finding, a line that sums them up, in a terminal where to read on."""
    blocks = [_block(report, finding, style) for finding in report.findings]
    summed = tally(report, style)
    ending = "\n".join([summed, *_hint(report, style)]) + "\n"
    return "\n".join([*blocks, ending] if summed else blocks)


def _hint(report: Report, style: Style) -> list[str]:
    explained = (item.code for item in report.findings if item.code in report.rules and item.certainty != "seen")
    code = next(explained, None)
    if code is None or not style.width:
        return []
    return [style.paint(wrapped(f"`gclint rule {code}` explains it.", style.width), "dim")]


def _block(report: Report, finding: Finding, style: Style) -> str:
    level = severity(finding)
    colour = COLOURS[level]
    head = f"{level}[{finding.code}]: "
    message = wrapped(printable(finding.message), style.width, "  ", len(head))
    lines = [style.paint(head[:-2], colour, "bold") + style.paint(f": {message}", "bold")]
    lines += frames(report, finding.location, finding.related, style)
    lines += [_note(label, text, style) for label, text in _notes(report, finding)]
    return "\n".join(lines) + "\n"


def _notes(report: Report, finding: Finding) -> list[tuple[str, str]]:
    notes = [("effect", finding.symptom), ("condition", finding.stated.brief), ("judged for", finding.versions)]
    notes.append(("this run", finding.this_run))
    notes += [("certainty", certainty_of(finding))] if severity(finding) != level_of_certainty(finding) else []
    notes.append(("help", remedy(report, finding)))
    for index, fix in enumerate(finding.fixes):
        notes.append(("fix" if index == 0 else "or", _fix_text(fix)))
    return [(label, text) for label, text in notes if text]


def _fix_text(fix: Fix) -> str:
    cost = f" ({fix.cost})" if fix.cost else ""
    how = "" if fix.applicability == "safe" else ", --unsafe"
    return f"{fix.title}{cost} [{fix.name}{how}]"


def _note(label: str, text: str, style: Style) -> str:
    indent = " " * (len(label) + 6)
    body = "\n".join(wrapped(printable(line), style.width, indent, len(indent)) for line in text.split("\n"))
    return f"  = {style.paint(label, 'bold')}: " + body.replace("\n", "\n" + indent if "\n" in text else "\n")
