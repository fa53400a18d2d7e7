"""Twisted programs through check and fix, a few in every run; `python -m tests.fuzz --examples 2000` tries many."""

from __future__ import annotations

import pytest

import fixtures
from gclint.check.findings import builtin_judge

from . import measure
from .trial import tried

FEW = 60


def test_an_empty_file_and_the_fixtures_themselves() -> None:
    judge = builtin_judge()
    assert tried("", "", judge).wrong == ""
    path = next(path for path in fixtures.scripts("bad_") if path.with_suffix(".fixed.py").exists())
    result = tried(path.read_text(), path.read_text(), judge)
    assert (result.parses, result.wrong) == (True, "")
    assert result.findings and result.applied


def test_mutations_neither_crash_nor_hang_nor_come_out_broken() -> None:
    made = measure.outcomes(measure.mutations(FEW, seed=7))
    assert [(example.name, result.wrong) for example, result in made if result.wrong] == []
    assert sum(result.applied for _, result in made) > 0


def test_random_programs() -> None:
    pytest.importorskip("hypothesmith")
    made = measure.outcomes(measure.random_programs(6, seed=7))
    assert [(example.name, example.text, result.wrong) for example, result in made if result.wrong] == []
