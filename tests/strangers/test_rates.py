from __future__ import annotations

from collections import Counter

import pytest

from gclint.rule import load_rules
from tests.strangers.rates import Rate, rates, read, write

SHORT_HERE = {
    "GCL101": "12 of the false ones are one library's tests of small models",
    "GCL201": "the same tests, and a configuration's dotted key",
    "GCL501": "models that are copied into repositories which never train them",
}
"""Rules of the first list that stay on, and what is false of them here: of all that was ever judged of them 81, 49 and
78 % were true, and most of the other kinds are mended.
"""
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
    [
        ("fails", 10, 1, False),
        ("fails", 8, 2, True),
        ("fragile", 9, 3, False),
        ("fragile", 14, 7, True),
        ("costs", 1, 9, False),
        ("fails", 0, 9, False),
    ],
)
def test_a_rule_falls_short_of_what_its_certainty_asks(certainty, true, false, short):
    assert Rate("GCL501", certainty, 40, 5, true, false, 0, 0).falls_short is short


def test_what_falls_short_on_strangers_code_is_in_preview_or_less_sure():
    told = {rule.code: rule.certainty for rule in load_rules() if not rule.preview}
    short = [rate.code for rate in read() if rate.falls_short and rate.certainty in told.get(rate.code, ())]
    assert set(short) <= set(SHORT_HERE)
