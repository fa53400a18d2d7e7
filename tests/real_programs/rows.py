"""The rows of the tables, read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

TABLES = tuple(sorted(Path(__file__).parent.glob("programs*.yaml")))


@dataclass(frozen=True)
class Plant:
    """An edit of what `find` matches in `file`, exactly once: it becomes `replace` (a template of `re`), or gets lines
    `above` or `below` it, as far to the right as the line that it begins in."""

    file: str
    find: str
    replace: str | None = None
    above: str = ""
    below: str = ""

    def apply(self, root: Path) -> None:
        """Edit the file; raises ValueError where the anchor is not there exactly once."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        found = list(re.finditer(self.find, text, re.MULTILINE))
        if len(found) != 1:
            raise ValueError(f"{self.file}: {self.find!r} matches {len(found)} times")
        match = found[0]
        new = match.expand(self.replace) if self.replace is not None else self._with_lines(match)
        path.write_text(text[: match.start()] + new + text[match.end() :], encoding="utf-8")

    def _with_lines(self, match: re.Match[str]) -> str:
        line = match.string[match.string.rfind("\n", 0, match.start()) + 1 :]
        indent = line[: len(line) - len(line.lstrip(" "))]
        above = "".join(f"{indent}{each}\n" for each in self.above.splitlines())
        below = "".join(f"\n{indent}{each}" for each in self.below.splitlines())
        return above + match[0] + below


@dataclass(frozen=True)
class Row:
    """A program with its failure, if it has one; the fields are those that the package's docstring tells."""

    name: str
    program: str
    failure: str = ""
    code: str = ""
    repository: str = ""
    package: str = ""
    version: str = ""
    commit: str = ""
    copy: tuple[str, ...] = ("*",)
    processes: int = 1
    choose: str = ""
    steps: int = 0
    plant: tuple[Plant, ...] = ()
    also: dict[str, str] = field(default_factory=dict)
    prepare: str = ""
    verdict: str = "confirmed"
    why: str = ""

    @property
    def codes(self) -> list[str]:
        """The rules that are due."""
        return self.code.split(",")


def rows(tables: Iterable[Path] | None = None) -> list[Row]:
    """Every row of the given tables, or of those of this folder; raises ValueError for two of one name."""
    found = [_row(each) for table in tables or TABLES for each in _read(table)]
    names = [row.name for row in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two rows are called {', '.join(sorted(twice))}")
    return found


def _read(table: Path) -> list[dict[str, Any]]:
    return yaml.safe_load(table.read_text(encoding="utf-8")) or []


def _row(given: dict[str, Any]) -> Row:
    plant = tuple(Plant(**each) for each in given.get("plant", ()))
    return Row(**{**given, "plant": plant, "copy": tuple(given.get("copy", ("*",)))})
