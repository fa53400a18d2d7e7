from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from gclint.finding import Condition, Finding, Location, finding_from
from gclint.report.content import Report
from gclint.report.formats import FORMATS, render

PARTS = tuple(f"if `option_{number} and b`" for number in range(20))
LONG = "under conditions that could not be put shortly"


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        (Condition(), ""),
        (
            Condition(("if `a and b`", "(if `b` or if `c`)", "on ROCm")),
            "if `a and b` and (if `b` or if `c`) and on ROCm",
        ),
        (Condition(("(if `b` or if `c`)",)), "if `b` or if `c`"),
        (Condition(("on several processes (two)",)), "on several processes (two)"),
        (Condition(("if `a`", "if `b`", "on ROCm", "with a GPU")), LONG),
        (Condition(("x" * 200,)), "x" * 200),
        (Condition(("x" * 201,)), LONG),
        (Condition(("on ROCm",), 1), LONG),
    ],
)
def test_people_are_told_what_is_short(condition, told):
    assert condition.brief == told


def test_all_of_it_counts_what_has_no_words():
    assert str(Condition(("on ROCm",), 1)) == "on ROCm and under 1 more condition too long to state"
    assert str(Condition((), 2)) == "under 2 more conditions too long to state" and str(Condition()) == ""


def test_a_condition_outlives_the_cache():
    finding = Finding("GCL201", "n", "m", Location("a.py", 1, 1, 1, 2), "fails", stated=Condition(PARTS, 3))
    assert finding_from(json.loads(json.dumps(asdict(finding)))) == finding


@pytest.mark.parametrize("name", FORMATS)
def test_formats_for_people_are_brief_and_the_others_complete(name):
    finding = Finding("GCL201", "n", "m", Location("a.py", 1, 1, 1, 2), "fails", stated=Condition(PARTS))
    text = render(Report((finding,), (), 1), name)
    text = text.replace("\\_", "_").replace("%0A", "\n")
    assert ("option_19 and b" in text) == (name in ("json", "json-lines", "sarif"))
    assert (LONG in text) == (name not in ("json", "json-lines"))
    if name == "sarif":
        (result,) = json.loads(text)["runs"][0]["results"]
        assert result["properties"]["condition"] == " and ".join(PARTS) and "option_19" not in result["message"]["text"]
