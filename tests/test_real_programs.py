"""The runner of real programs: what its rows, its results and its page hold. No program is run here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.real_programs.evidence import evidence
from tests.real_programs.page import page
from tests.real_programs.rows import Plant, Row, rows
from tests.real_programs.runs import Result, read, read_results, write_results

ROW = Row("one", "train.py", "gradients are never cleared", "GCL805")
RIGHT = Result("one", "program", "confirmed", 3.0, "before: /home/x/y.py | 3", "abc", {"code": "GCL805"})


def test_every_row_says_what_is_right_and_why() -> None:
    every = rows()
    assert len(every) > 60 and all(each.commit or each.package for each in every)
    assert all(each.why for each in every if each.verdict != "confirmed")
    planted = [each.code for each in every if each.plant]
    assert max(map(planted.count, planted)) * 3 <= len(planted)


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


def test_every_place_that_was_confirmed_is_evidence_with_its_command() -> None:
    row = replace(ROW, repository="someone/theirs", commit="0123456789", code="GCL805,GCL824")
    proofs = [proof("GCL805", 7, "confirmed"), proof("GCL824", 9, "confirmed"), proof("GCL805", 8, "unverified")]
    result = Result("one", "program", "confirmed", 3.0, "one", "abc", proofs=proofs)
    other = replace(result, name="two", verdict="unverified", evidence="none", reason="no training step was taken")
    planted = replace(row, name="planted row", plant=(Plant("train.py", "x", ""),))
    text = evidence([(row, result), (replace(row, name="two"), other), (planted, result)])
    assert "**2 findings in 1 repositories** are confirmed: GCL805 1, GCL824 1." in text
    assert "`confirmed` 1, `unverified` 1" in text
    link = "[someone/theirs](https://github.com/someone/theirs)"
    assert f"| {link} | `0123456` | `train.py:9` | GCL824 | step 2 adds | confirmed |" in text
    assert (
        "checkout.sh DIR someone/theirs 0123456789 && python -m tests.real_programs --checkouts DIR --only one" in text
    )
    assert "*two* (GCL805,GCL824): unverified, no training step was taken" in text and "planted row" not in text


def test_a_row_of_several_rules_keeps_what_each_of_them_found() -> None:
    report = [proof("GCL901", 1, "unverified"), proof("GCL904", 2, "confirmed"), proof("GCL101", 3, "confirmed")]
    result = read(replace(ROW, code="GCL901,GCL904"), json.dumps({"verification": report}), "", 1.0)
    assert [each["row"] for each in result.proofs] == [1, 2] and result.verdict == "confirmed"


def proof(code: str, line: int, verdict: str) -> dict[str, object]:
    reason = "before: step 2 adds; after: clean, 3 steps"
    return {"code": code, "filename": "train.py", "row": line, "verdict": verdict, "reason": reason}
