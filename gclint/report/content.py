"""What a report is about: findings, what went wrong on the way, and the files and rules they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gclint.finding import Finding, Level, Location
from gclint.source.source import Source

UNREADABLE = "GCL000"
JUDGED_IN_PART = "GCL002"


class RuleInfo(Protocol):
    """What reports say about a rule: its code, its name, and its documentation (Markdown)."""

    @property
    def code(self) -> str:
        """The code, such as GCL201."""

    @property
    def name(self) -> str:
        """The name in words joined by hyphens."""

    @property
    def docs(self) -> str:
        """The documentation page."""

    @property
    def summary(self) -> str:
        """What the rule finds, in a sentence or two on one line."""


@dataclass(frozen=True)
class Problem:
    """Something that kept a file or a rule from being judged: where (path, line from 1) and what to do."""

    path: str
    what: str
    remedy: str = ""
    line: int = 1

    def __str__(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        place = f"{self.path}:{self.line}: " if self.path else ""
        return f"{place}{self.what}{remedy}"


@dataclass(frozen=True)
class Asked:
    """What a check was asked: the paths as they were named, and the options that decide how they are judged."""

    paths: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """The outcome of a check: findings in order of place and code, and the problems that make exit status
    2.

    A file that could not be read or parsed is a finding GCL000. `sources` has the text of every file that
    a finding names, `rules` what is known of every rule by code, `asked` what was to be checked.
    """

    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    files_checked: int = 0
    sources: Mapping[str, Source] = field(default_factory=dict)
    rules: Mapping[str, RuleInfo] = field(default_factory=dict)
    asked: Asked = Asked()

    @property
    def failed(self) -> bool:
        """Whether something could not be judged, so that a clean result would be a lie."""
        return bool(self.problems) or any(finding.code == UNREADABLE for finding in self.findings)

    @property
    def defective(self) -> bool:
        """Whether anything but notes was found."""
        return any(severity(finding) != "note" for finding in self.findings)

    def shown(self, place: Location) -> Location:
        """Return `place` as it is printed: in a notebook counted within its cell, which is filled in."""
        source = self.sources.get(place.path)
        if source is None or source.notebook is None or place.cell is not None:
            return place
        cell, line = source.place(place.line)
        end_cell, end_line = source.place(place.end_line)
        if end_cell != cell:
            end_line = line
        end_column = place.end_column if end_cell == cell else place.column
        column = place.column
        if line == end_line:
            column, end_column = source.notebook.columns(place.line, column, end_column)
        return Location(place.path, line, column, end_line, end_column, place.message, cell)

    def in_file(self, place: Location) -> Location:
        """Return `place` by the lines of its file: of a notebook the line of its JSON that holds the source line."""
        source = self.sources.get(place.path)
        if source is None or source.notebook is None:
            return place
        line = source.notebook.file_line(place.line)
        return Location(place.path, line, 1, line, 1 + len(source.notebook.raw.split("\n")[line - 1]), place.message)

    def line_text(self, place: Location) -> str:
        """Return the source line that `place` (not yet `shown`) begins on, without its ending; "" if
        unknown.
        """
        source = self.sources.get(place.path)
        if source is None or not 1 <= place.line <= len(source.lines):
            return ""
        text = source.lines[place.line - 1].rstrip("\r\n")
        return text if source.notebook is None else dict(source.notebook.magics).get(place.line, text)


def severity(finding: Finding) -> Level:
    """Return the level that the configuration gives a finding, else the one of its certainty."""
    return finding.level or level_of_certainty(finding)


def level_of_certainty(finding: Finding) -> Level:
    """Return `error` for a finding that is shown to fail, `warning` for a fragile one, `note` for no defect."""
    if finding.code == JUDGED_IN_PART or finding.certainty == "costs":
        return "note"
    return "warning" if finding.certainty == "fragile" else "error"


def certainty_of(finding: Finding) -> str:
    """Return the certainty in one word, `note` for what is said about the check itself."""
    return "note" if finding.code == JUDGED_IN_PART else finding.certainty


def place_text(place: Location) -> str:
    """Return `path:line:column`, in a notebook `path:cell 3:line:column`, of a shown place."""
    from gclint.report.escape import printable

    cell = f"cell {place.cell}:" if place.cell is not None else ""
    return f"{printable(place.path)}:{cell}{place.line}:{place.column}"
