"""What a program means decides what is found, not how it is written."""

from __future__ import annotations

import zlib

import pytest

import fixtures
from test_five_days import NAMES

from . import measure, seeds

# one program in this many is rewritten here; `python -m tests.rewriting` takes them all
SHARE = 60


def test_findings_survive_rewriting_and_none_appears() -> None:
    paths = [path for path in measure.programs() if zlib.crc32(fixtures.name(path).encode()) % SHARE == 0]
    outcomes = measure.measured(measure.REWRITES, paths)
    table = measure.rows(outcomes)
    shown = measure.printed(table)
    false = {f"{item.rewrite}: {item.fixture} {place}" for item in outcomes for place in item.false}
    assert not false, f"{sorted(false)}\n{shown}"
    assert table[-1].share >= 0.95, shown
    assert all(row.share >= 0.9 for row in table), shown


def test_findings_survive_rewrites_combined_at_random() -> None:
    outcomes = measure.measured_at_random(240, 7, measure.programs())
    table = measure.rows(outcomes)
    assert table[-1].expected > 0 and table[-1].share >= 0.95, measure.printed(table)
    assert [item for item in outcomes if item.false] == []


@pytest.mark.parametrize("rewrite", seeds.ACROSS_FILES)
def test_the_five_projects_keep_their_findings(rewrite: str) -> None:
    for seed in NAMES:
        outcome = seeds.measure(rewrite, seed)
        assert (outcome.lost, outcome.false) == ([], []), seed
