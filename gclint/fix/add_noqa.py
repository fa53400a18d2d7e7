"""`--add-noqa`: a comment for every finding, so that only new ones are reported from now on."""

from __future__ import annotations

from collections.abc import Iterable

from gclint.check.selection import OWN_RULES
from gclint.check.suppress import Directive, directives, logical_lines
from gclint.finding import Edit
from gclint.fix.edits import apply
from gclint.report.content import Report
from gclint.source.source import Source

NOT_SILENCED = frozenset(rule.code for rule in OWN_RULES)
_HASH_COMMENTS = frozenset({"python", "notebook", "yaml", "toml", "shell", "make", "docker", "requirements"})


def silenced(report: Report) -> list[tuple[Source, Source]]:
    """Return each file with findings as it is, and as it is with a `# noqa: CODE` for each of them."""
    by_path: dict[str, dict[int, set[str]]] = {}
    for finding in report.findings:
        if finding.code not in NOT_SILENCED:
            lines = by_path.setdefault(finding.location.path, {})
            lines.setdefault(finding.location.line, set()).add(finding.code)
    changes = []
    for path, lines in sorted(by_path.items()):
        source = report.sources.get(path)
        if source is not None and source.kind in _HASH_COMMENTS:
            changes.append((source, source.with_text(apply(source.text, _edits(source, lines)))))
    return [(before, after) for before, after in changes if before.data != after.data]


def _edits(source: Source, lines: dict[int, set[str]]) -> list[Edit]:
    spans = logical_lines(source.text) if source.kind in {"python", "notebook"} else []
    codes_at: dict[int, set[str]] = {}
    for line, codes in lines.items():
        last = next((end for first, end in spans if first <= line <= end), line)
        codes_at.setdefault(last, set()).update(codes)
    existing = {item.line: item for item in directives(source) if item.noqa and item.codes is not None}
    return [
        _edit(source, line, codes, existing.get(line))
        for line, codes in sorted(codes_at.items())
        if not _continued(source, line)
    ]


def _continued(source: Source, line: int) -> bool:
    """Return whether a comment would cut off the rest of a command that goes on in the next line."""
    return source.kind not in {"python", "notebook"} and source.lines[line - 1].rstrip().endswith("\\")


def _edit(source: Source, line: int, codes: Iterable[str], known: Directive | None) -> Edit:
    body = source.lines[line - 1].rstrip("\r\n")
    if known is not None:
        text = "".join(f", {code}" for code in sorted(codes))
        return Edit(source.path, line, known.end_column, line, known.end_column, text)
    end = len(body.rstrip()) + 1
    return Edit(source.path, line, end, line, len(body) + 1, f"  # noqa: {', '.join(sorted(codes))}")
