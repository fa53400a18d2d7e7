from __future__ import annotations

from collections import Counter

import pytest

from gclint.rule import load_rules
from tests.strangers.rates import Rate, rates, read, write

TOLD = Counter(
    {
        ("a/b", "GCL501", "fragile", "true"): 9,
        ("c/d", "GCL501", "fragile", "false"): 2,
        ("c/d", "GCL501", "fragile", "not judged"): 1,
        ("a/b", "GCL901", "fails", "true"): 3,
    }
)


def test_what_is_told_is_counted_by_code_and_certainty(tmp_path):
    found = rates(40, TOLD)
    assert found == [
        Rate("GCL501", "fragile", 40, 2, 9, 2, 0, 1),
        Rate("GCL901", "fails", 40, 1, 3, 0, 0, 0),
    ]
    write(found, tmp_path / "rates.csv")
    assert read(tmp_path / "rates.csv") == found


@pytest.mark.parametrize(
    ("certainty", "true", "false", "short"),
    [("fails", 19, 1, False), ("fails", 18, 2, True), ("fragile", 8, 12, False), ("fragile", 7, 13, True)],
)
def test_a_rule_falls_short_of_what_its_certainty_asks(certainty, true, false, short):
    assert Rate("GCL501", certainty, 40, 5, true, false, 0, 0).falls_short is short


def test_of_few_that_were_judged_nothing_is_said():
    assert not Rate("GCL501", "fails", 40, 5, 4, 5, 0, 0).falls_short


def test_what_falls_short_on_strangers_code_is_in_preview_or_less_sure():
    told = {rule.code: rule.certainty for rule in load_rules() if not rule.preview}
    assert [rate for rate in read() if rate.falls_short and rate.certainty in told.get(rate.code, ())] == []
