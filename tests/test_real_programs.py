"""The runner of real programs: what its rows, its results and its page hold. No program is run here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.real_programs.page import page
from tests.real_programs.rows import Row, rows
from tests.real_programs.runs import Result, read_results, write_results

ROW = Row("one", "train.py", "gradients are never cleared", "GCL805")
RIGHT = Result("one", "program", "confirmed", 3.0, "before: /home/x/y.py | 3", "abc", {"code": "GCL805"})


def test_every_row_says_what_is_right_and_why() -> None:
    every = rows()
    assert len(every) > 60 and all(each.commit or each.package for each in every)
    assert all(each.why for each in every if each.verdict != "confirmed")
    assert max(sum(each.code == code for each in every) for code in {each.code for each in every}) * 3 <= len(every)


def test_the_share_counts_every_row() -> None:
    wrong = replace(RIGHT, name="two", verdict="passes")
    silent = replace(RIGHT, name="three", verdict="unverified", evidence="none")
    text = page([(ROW, RIGHT), (replace(ROW, name="two"), wrong), (replace(ROW, name="three"), silent)])
    assert "**1 of 3** programs (33%)" in text
    assert "`unverified`: 1. Wrong verdicts: 1 (two)." in text
    assert "- **three**: " in text.partition("## Not reached")[2] and "- **one**" not in text
    assert "before: y.py \\| 3" in text and "/home" not in text, "neither this machine's folders nor a broken table"


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_results(tmp_path / "results.json", {"one": RIGHT})
    assert read_results(tmp_path / "results.json") == {"one": RIGHT}
    assert read_results(tmp_path / "none.json") == {}
