"""The line that sums a report up, and the table of `--statistics`."""

from __future__ import annotations

from collections import Counter

from gclint.report.columns import wrapped
from gclint.report.content import UNREADABLE, Report, severity
from gclint.report.style import Style


def tally(report: Report, style: Style) -> str:
    """Return how many findings of which certainty there are in how many files, how many paths could not be judged,
    and how many findings can be fixed; "" where that is not wanted.
    """
    if style.quiet:
        return ""
    named = len({finding.location.path for finding in report.findings if finding.code != UNREADABLE})
    files = counted(max(report.files_checked, named), "file")
    unjudged = len({finding.location.path for finding in report.findings if finding.code == UNREADABLE})
    levels = Counter(severity(finding) for finding in report.findings if finding.code != UNREADABLE)
    seen = sum(finding.certainty == "seen" for finding in report.findings)
    costly = sum(finding.certainty == "costs" for finding in report.findings)
    failing, fragile, notes = levels["error"] - seen, levels["warning"], levels["note"] - costly
    count = failing + fragile + costly + seen
    if not count:
        clean = not report.problems and not report.findings
        but = f"{counted(unjudged, 'path')} could not be judged" if unjudged else "see above"
        text = f"No findings in {files}." if clean else f"No findings in {files}, but {but}."
        return style.paint(wrapped(text, style.width), "green" if clean else "yellow")
    parts = [f"{failing} failing" if failing else "", f"{fragile} fragile" if fragile else ""]
    parts += [f"{costly} costly" if costly else "", f"{seen} seen" if seen else ""]
    parts += [f"besides {counted(notes, 'note')}" if notes else ""]
    sentence = f"{counted(count, 'finding')} in {files}: {', '.join(p for p in parts if p)}."
    sentence += f" {counted(unjudged, 'path')} could not be judged." if unjudged else ""
    return wrapped(sentence + _fixes(report), style.width)


def statistics(report: Report) -> str:
    """Return a line for each code: how many, whether `gclint fix` mends it ([*]), code and name."""
    counts = Counter(finding.code for finding in report.findings)
    names = {finding.code: finding.name for finding in report.findings}
    mended = {f.code for f in report.findings if f.fixes and f.fixes[0].applicability == "safe"}
    ordered = sorted(counts, key=lambda code: (-counts[code], code))
    width = max((len(str(count)) for count in counts.values()), default=1)
    lines = [f"{counts[code]:>{width}}  {code}  [{'*' if code in mended else ' '}] {names[code]}" for code in ordered]
    return "\n".join(lines) + ("\n" if lines else "")


def counted(number: int, noun: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _fixes(report: Report) -> str:
    safe = sum(bool(f.fixes) and f.fixes[0].applicability == "safe" for f in report.findings)
    unsafe = sum(bool(f.fixes) and f.fixes[0].applicability == "unsafe" for f in report.findings)
    parts = [f"{of_fixes(safe)} by `gclint fix`"] if safe else []
    if unsafe:
        parts.append(f"{f'{unsafe} more' if safe else of_fixes(unsafe)} with `gclint fix --unsafe`")
    return f" {', '.join(parts)}." if parts else ""


def of_fixes(number: int) -> str:
    """Return `1 fix`, `2 fixes`."""
    return f"{number} fix" if number == 1 else f"{number} fixes"
