from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from gclint.finding import Condition, Finding, Location, finding_from
from gclint.report.condition import brief
from gclint.report.content import Report
from gclint.report.formats import FORMATS, render

PARTS = tuple(f"if `option_{number} and b`" for number in range(20))
FIRST = " and ".join(PARTS[:4])


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ((), ""),
        (("on ROCm",), "on ROCm"),
        (("if `a and b`", "unless `c`"), "if `a and b` and unless `c`"),
        (("if `a`", "(if `b` or if `c`)", "on ROCm", "with a GPU", "if `e`"), None),
        (("if `a`", "if `" + "b" * 400 + "`"), "if `a` and 1 more condition"),
        (("if `a(" + "b" * 400 + ")`", "if `a`"), "under conditions that `--output-format json` states"),
    ],
)
def test_what_is_short_or_one_stays(parts, told):
    assert brief(Condition(parts)) == (" and ".join(parts) if told is None else told)


def test_the_rest_is_counted():
    assert brief(Condition(PARTS)) == f"{FIRST} and 16 more conditions"
    assert brief(Condition(("if `a`", "(" + "if `b` or " * 50 + "if `c`)"))) == "if `a` and 1 more condition"


def test_what_a_condition_counts_already_is_counted_on():
    assert brief(Condition(PARTS, 25)) == f"{FIRST} and 41 more conditions"
    assert brief(Condition(("on ROCm",), 1)) == "on ROCm and under 1 more condition too long to state"
    assert str(Condition((), 2)) == "under 2 more conditions too long to state" and str(Condition()) == ""


def test_a_part_is_told_as_it_is_whatever_its_words():
    """The words of the code are no words of gclint's."""
    parts = ("if `' and '.join(names) == under(7)`", "if `told == 'under 9 more conditions too long to state'`", *PARTS)
    assert brief(Condition(parts)) == " and ".join([*parts[:2], *PARTS[:2], "18 more conditions"])


def test_a_condition_outlives_the_cache():
    finding = Finding("GCL201", "n", "m", Location("a.py", 1, 1, 1, 2), "fails", stated=Condition(PARTS, 3))
    assert finding_from(json.loads(json.dumps(asdict(finding)))) == finding


@pytest.mark.parametrize("name", FORMATS)
def test_formats_for_people_are_brief_and_the_others_complete(name):
    finding = Finding("GCL201", "n", "m", Location("a.py", 1, 1, 1, 2), "fails", stated=Condition(PARTS))
    text = render(Report((finding,), (), 1), name)
    text = text.replace("\\_", "_").replace("%0A", "\n")
    assert ("option_19 and b" in text) == (name in ("json", "json-lines", "sarif"))
    assert ("and 16 more conditions" in text) == (name not in ("json", "json-lines"))
    if name == "sarif":
        (result,) = json.loads(text)["runs"][0]["results"]
        assert result["properties"]["condition"] == " and ".join(PARTS) and "option_19" not in result["message"]["text"]
