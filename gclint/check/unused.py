"""GCL001: a suppression that silences nothing, and the edit that takes it away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gclint.check.suppress import Directive, directives, is_ours
from gclint.finding import Edit, Finding, Fix, Location
from gclint.source.source import Source

CODE = "GCL001"
NAME = "unused-suppression"


def suppress(
    source: Source, findings: Iterable[Finding], enabled: Sequence[str]
) -> tuple[list[Finding], list[Finding]]:
    """Return the findings of `source` that no comment silences, and a GCL001 for each comment without
    effect.

    Only codes of gclint are judged unused, and only those that `enabled` (the codes selected) could have
    raised.
    """
    comments = directives(source)
    used: set[tuple[int, str]] = set()
    kept = []
    for finding in findings:
        silencing = [(i, d) for i, d in enumerate(comments) if d.silences(finding.code, finding.location.line)]
        if not silencing:
            kept.append(finding)
        for index, directive in silencing:
            used |= {(index, code) for code in directive.codes or ("",) if finding.code.startswith(code)}
    unused = []
    for index, directive in enumerate(comments):
        idle = [code for code in directive.codes or () if _idle(code, enabled) and (index, code) not in used]
        if idle:
            unused.append(_finding(source, directive, idle))
    return kept, unused


def _idle(code: str, enabled: Sequence[str]) -> bool:
    return is_ours(code) and any(other.startswith(code) for other in enabled)


def _finding(source: Source, directive: Directive, idle: list[str]) -> Finding:
    place = Location(source.path, directive.line, directive.column, directive.line, directive.end_column)
    codes = ", ".join(idle)
    fix = Fix("remove", f"Remove the unused suppression of {codes}", (_removal(source, directive, idle),))
    message = f"This comment silences {codes}, which is not found here"
    return Finding(CODE, NAME, message, place, "fragile", fixes=(fix,))


def _removal(source: Source, directive: Directive, idle: list[str]) -> Edit:
    line = source.lines[directive.line - 1]
    start, end = directive.column - 1, directive.end_column - 1
    rest = [code for code in directive.codes or () if code not in idle]
    if rest:
        text = line[start:end]
        for code in idle:
            text = _without(text, code)
        return Edit(source.path, directive.line, start + 1, directive.line, end + 1, text)
    body = line.rstrip("\r\n")
    if body[end:].strip():
        return Edit(source.path, directive.line, start + 1, directive.line, end + 1, "#")
    if not body[:start].strip() and line != body:
        return Edit(source.path, directive.line, 1, directive.line + 1, 1, "")
    before = len(body[:start].rstrip())
    return Edit(source.path, directive.line, before + 1, directive.line, len(body) + 1, "")


def _without(text: str, code: str) -> str:
    listed = re.escape(code)
    after_another = re.compile(rf"(?<=\w)[, \t]+{listed}(?!\w)", re.IGNORECASE)
    if after_another.search(text):
        return after_another.sub("", text, count=1)
    return re.sub(rf"(?<!\w){listed}[, \t]+", "", text, count=1, flags=re.IGNORECASE)
