"""One line for each finding: `path:line:column: CODE message`."""

from __future__ import annotations

from gclint.report.content import Report, place_text, severity
from gclint.report.escape import printable
from gclint.report.style import COLOURS, Style
from gclint.report.tally import tally


def render(report: Report, style: Style) -> str:
    """Return a line for each finding, `[*]` where a plain fix mends it, and a line that sums them up."""
    lines = []
    for finding in report.findings:
        colour = COLOURS[severity(finding)]
        mended = "[*] " if finding.fixes and finding.fixes[0].applicability == "safe" else ""
        place = style.paint(place_text(report.shown(finding.location)), "bold")
        code = style.paint(finding.code, colour, "bold")
        lines.append(f"{place}: {code} {mended}{printable(finding.told)}")
    return "".join(f"{line}\n" for line in [*lines, tally(report, style)] if line)
