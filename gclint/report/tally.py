"""The line that sums a report up, and the table of `--statistics`."""

from __future__ import annotations

from collections import Counter

from gclint.report.columns import wrapped
from gclint.report.content import UNREADABLE, Report, certainty_of, level_of_certainty
from gclint.report.style import Style

_KINDS = {"fails": "failing", "fragile": "fragile", "costs": "costly", "seen": "seen"}


def tally(report: Report, style: Style) -> str:
    """Return how many findings of which certainty there are in how many of the files, how many paths could not be
    judged, and how many findings can be fixed; "" where that is not wanted.
    """
    if style.quiet:
        return ""
    named = len({finding.location.path for finding in report.findings if finding.code != UNREADABLE})
    files = counted(max(report.files_checked, named), "file")
    unjudged = len({finding.location.path for finding in report.findings if finding.code == UNREADABLE})
    kinds = Counter(certainty_of(finding) for finding in report.findings if finding.code != UNREADABLE)
    notes = kinds.pop("note", 0)
    count = kinds.total()
    if not count:
        clean = not report.problems and not report.findings
        but = f"{counted(unjudged, 'path')} could not be judged" if unjudged else "see above"
        text = f"No findings in {files}." if clean else f"No findings in {files}, but {but}."
        return style.paint(wrapped(text, style.width), "green" if clean else "yellow")
    parts = [f"{kinds[name]} {word}" for name, word in _KINDS.items() if kinds[name]]
    noted = sum(each.level == "note" and level_of_certainty(each) != "note" for each in report.findings)
    parts += [f"{noted} of them only noted"] if noted else []
    parts += [f"besides {counted(notes, 'note')}"] if notes else []
    few = f"{named} of " if named < report.files_checked else ""
    sentence = f"{counted(count, 'finding')} in {few}{files}: {', '.join(parts)}."
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
