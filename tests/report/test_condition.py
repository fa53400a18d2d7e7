from __future__ import annotations

import json

import pytest

from gclint.finding import Finding, Location
from gclint.report.condition import brief, parts_of
from gclint.report.content import Report
from gclint.report.formats import FORMATS, render

LONG = " and ".join(f"if `option_{number} and b`" for number in range(20))


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "on ROCm",
        "if `a and b` and unless `c`",
        "if `a` and (if `b` or (if `c` and if `d`)) and on ROCm and with a GPU and if `e`",
        "if `a(" + "b" * 400 + ")`",
    ],
)
def test_what_is_short_or_one_stays(condition):
    told = brief(condition)
    assert told == condition or (len(condition) > 300 and told == "under conditions that `--output-format json` states")


def test_parts_are_told_apart_outside_of_code_and_parentheses():
    assert parts_of("if `a and b` and (if `c` and if `(`) and on ROCm") == [
        "if `a and b`",
        "(if `c` and if `(`)",
        "on ROCm",
    ]
    assert parts_of("") == []


def test_the_rest_is_counted():
    first = " and ".join(f"if `option_{number} and b`" for number in range(4))
    assert brief(LONG) == f"{first} and 16 more conditions"
    assert brief("if `a` and (" + "if `b` or " * 50 + "if `c`)") == "if `a` and 1 more condition"


def test_what_a_condition_counts_already_is_counted_on():
    first = " and ".join(f"if `option_{number} and b`" for number in range(4))
    assert brief(f"{LONG} and under 25 more conditions too long to state") == f"{first} and 41 more conditions"
    told = "on ROCm and under 1 more condition too long to state"
    assert brief(told) == told


@pytest.mark.parametrize("name", FORMATS)
def test_formats_for_people_are_brief_and_the_others_complete(name):
    finding = Finding("GCL201", "n", "m", Location("a.py", 1, 1, 1, 2), "fails", condition=LONG)
    text = render(Report((finding,), (), 1), name)
    text = text.replace("\\_", "_").replace("%0A", "\n")
    assert ("option_19 and b" in text) == (name in ("json", "json-lines", "sarif"))
    assert ("and 16 more conditions" in text) == (name not in ("json", "json-lines"))
    if name == "sarif":
        (result,) = json.loads(text)["runs"][0]["results"]
        assert result["properties"]["condition"] == LONG and "option_19" not in result["message"]["text"]
