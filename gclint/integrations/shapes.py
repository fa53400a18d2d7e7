"""Findings and fixes as the language server protocol has them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lsprotocol import types

from gclint.addresses import page_of
from gclint.finding import Edit, Finding, Fix, Location
from gclint.report.content import Report, severity
from gclint.report.remedy import notes
from gclint.source.source import Source

FIX_ALL = "source.fixAll.gclint"
FIX_NOTEBOOK = f"notebook.{FIX_ALL}"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
_CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
_WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


@dataclass
class Shapes:
    """How places of a report are named to the client: its position encoding, and the URIs of notebook cells."""

    report: Report
    encoding: str = "utf-16"
    uris: dict[str, str] = field(default_factory=dict)
    cells: dict[str, Sequence[str]] = field(default_factory=dict)

    def place(self, place: Location) -> tuple[str, types.Range]:
        """Return the URI and the range of a place; within its cell in a notebook."""
        path = os.path.realpath(place.path)
        source = self.report.sources.get(place.path)
        cell, line = source.place(place.line) if source else (None, place.line)
        shift = place.line - line
        start = types.Position(line - 1, self._units(source, place.line, place.column))
        end = types.Position(place.end_line - shift - 1, self._units(source, place.end_line, place.end_column))
        cells = self.cells.get(path, ())
        uri = cells[cell - 1] if cell is not None and cell <= len(cells) else self.uris.get(path)
        return uri or Path(path).as_uri(), types.Range(start, end)

    def diagnostic(self, finding: Finding) -> types.Diagnostic:
        """Return the finding with the other places that take part."""
        parts = [finding.message, *notes(self.report, finding)]
        related = []
        for place in finding.related:
            uri, span = self.place(place)
            message = place.message or "takes part"
            related.append(types.DiagnosticRelatedInformation(types.Location(uri, span), message))
        return types.Diagnostic(
            range=self.place(finding.location)[1],
            message="\n".join(parts),
            severity=_SEVERITIES[severity(finding)],
            code=finding.code,
            code_description=types.CodeDescription(page) if (page := page_of(finding.code)) else None,
            source="gclint",
            related_information=related or None,
        )

    def actions(self, finding: Finding) -> list[types.CodeAction]:
        """Return a quick fix for each way to mend the finding, the preferred one marked."""
        made = []
        for number, fix in enumerate(item for item in finding.fixes if item.edits):
            preferred = number == 0 and fix.automatic and fix.applicability == "safe"
            made.append(
                types.CodeAction(
                    title=_title(finding, fix),
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[self.diagnostic(finding)],
                    is_preferred=preferred or None,
                    edit=self.edit(fix.edits),
                )
            )
        return made

    def edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        """Return edits as changes of documents."""
        changes: dict[str, list[types.TextEdit]] = {}
        for edit in edits:
            item = _within_cell(self.report.sources.get(edit.path), edit)
            at = Location(item.path, item.line, item.column, item.end_line, item.end_column)
            uri, span = self.place(at)
            changes.setdefault(uri, []).append(types.TextEdit(span, item.text))
        return types.WorkspaceEdit(changes=dict(changes))

    def column(self, text: str, units: int) -> int:
        """Return the column, from 1, of a position in a line."""
        codec = _CODECS[self.encoding]
        return len(text.encode(codec, "surrogatepass")[: units * _WIDTHS[self.encoding]].decode(codec, "replace")) + 1

    def _units(self, source: Source | None, line: int, column: int) -> int:
        if source is None or line > len(source.lines):
            return column - 1
        codec = _CODECS[self.encoding]
        return len(source.lines[line - 1][: column - 1].encode(codec, "surrogatepass")) // _WIDTHS[self.encoding]


def rewritten(source: Source, text: str) -> list[Edit]:
    """Return the edits, line by line, that make the text of `source` into `text`."""
    from difflib import SequenceMatcher

    from gclint.source.lines import split_lines

    new = split_lines(text)
    edits = []
    for tag, start, end, first, last in SequenceMatcher(None, source.lines, new, autojunk=False).get_opcodes():
        if tag != "equal":
            edits.append(Edit(source.path, start + 1, 1, end + 1, 1, "".join(new[first:last])))
    return edits


def _within_cell(source: Source | None, edit: Edit) -> Edit:
    """Return the edit without the newline after the last line of a cell, which no editor has."""
    line = edit.end_line - 1
    if source is None or source.notebook is None or edit.end_column != 1 or not 0 < line <= len(source.lines):
        return edit
    if line < len(source.lines) and source.place(line)[0] == source.place(edit.end_line)[0]:
        return edit
    end = len(source.lines[line - 1].rstrip("\r\n")) + 1
    text = edit.text.removesuffix("\n")
    if edit.line == edit.end_line:
        return replace(edit, line=line, column=end, end_line=line, end_column=end, text=f"\n{text}")
    return replace(edit, end_line=line, end_column=end, text=text)


def _title(finding: Finding, fix: Fix) -> str:
    judgement = "" if fix.applicability == "safe" else " (needs judgement)"
    cost = f" ({fix.cost})" if fix.cost else ""
    return f"gclint: {fix.title}{cost}{judgement} [{finding.code}]"
