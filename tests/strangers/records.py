"""What is kept of the public repositories: which commits, what was judged there, where true places are."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Repository(NamedTuple):
    """A public repository at one commit."""

    repository: str
    commit: str
    kind: str

    def below(self, folder: Path) -> Path:
        """Where its checkout is expected."""
        return folder / f"{self.repository.replace('/', '+')}@{self.commit}"


class Place(NamedTuple):
    """A line of a file, or of a notebook's cell."""

    path: str
    cell: str
    line: int


class Judgement(NamedTuple):
    """What a reader of the source said of one finding."""

    repository: str
    place: Place
    code: str
    certainty: str
    verdict: str
    why: str

    def verdict_at(self, certainty: str) -> str | None:
        """What it says of the same finding told with this certainty, if it says anything."""
        weaker = (certainty, self.verdict) in (("fragile", "true"), ("fails", "false"))
        return self.verdict if certainty == self.certainty or weaker else None


class Site(NamedTuple):
    """A place where the state of one of `codes` holds, found by reading before gclint was asked."""

    repository: str
    path: str
    line: int
    codes: frozenset[str]
    verdict: str


def repositories(named: Iterable[str] = (), where: Path = HERE) -> list[Repository]:
    """All repositories of the list, or the named ones."""
    wanted = set(named)
    listed = [Repository(row["repository"], row["commit"], row["kind"]) for row in _rows(where / "repositories.csv")]
    return [each for each in listed if not wanted or each.repository in wanted]


def judgements(where: Path = HERE) -> list[Judgement]:
    """Every judged finding."""
    return [
        Judgement(
            row["repository"],
            Place(row["path"], row["cell"], int(row["line"])),
            row["code"],
            row["certainty"],
            row["verdict"],
            row["why"],
        )
        for row in _rows(where / "judgements.csv")
    ]


def sites(where: Path = HERE) -> list[Site]:
    """Every place that was read for recall."""
    return [
        Site(row["repository"], row["path"], int(row["line"]), frozenset(row["codes"].split()), row["verdict"])
        for row in _rows(where / "sites.csv")
    ]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
