"""How often what each rule says of strangers' code is true: `rates.csv`, which the page of the rules shows.

`python -m tests.strangers.measure --rates` writes it, from what it checked and `judgements.csv`.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from tests.strangers.page import wilson
from tests.strangers.records import HERE

FILE = HERE / "rates.csv"
ENOUGH = 10
LEAST = {"fails": 0.95, "fragile": 0.85}
"""The share of what a rule tells that has to be true, by how sure it says that it is."""


class Rate(NamedTuple):
    """One rule at one certainty: in how many of the repositories it tells of something, and how that was judged."""

    code: str
    certainty: str
    asked: int
    telling: int
    true: int
    false: int
    unsure: int
    unjudged: int

    @property
    def falls_short(self) -> bool:
        """Whether the share that is true is too small for its certainty, with all that chance may do to it (95 %)."""
        judged = self.true + self.false
        return judged >= ENOUGH and wilson(self.true, judged)[1] < LEAST.get(self.certainty, 0.0)


def rates(asked: int, told: Counter[tuple[str, str, str, str]]) -> list[Rate]:
    """The rates of what was `told` in that many repositories: by repository, code, certainty and verdict."""
    verdicts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    where: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for (repository, code, certainty, verdict), count in told.items():
        verdicts[code, certainty][verdict] += count
        where[code, certainty].add(repository)
    return [
        Rate(*key, asked, len(where[key]), held["true"], held["false"], held["unsure"], held["not judged"])
        for key, held in sorted(verdicts.items())
    ]


def write(found: list[Rate], file: Path = FILE) -> None:
    """Keep the rates."""
    with file.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(Rate._fields)
        table.writerows(found)


def read(file: Path = FILE) -> list[Rate]:
    """The rates that were kept last."""
    with file.open(newline="", encoding="utf-8") as held:
        return [
            Rate(row["code"], row["certainty"], *(int(row[name]) for name in Rate._fields[2:]))
            for row in csv.DictReader(held)
        ]
