"""Gradients are not turned off for a function that trains as well as it evaluates."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gclint.check.engine import check
from gclint.check.request import Request

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "GCL816"


@pytest.mark.parametrize(("name", "fixes"), [("bad_function_that_trains_too", 0), ("bad_function", 1)])
def test_what_trains_too_keeps_its_gradients(
    name: str, fixes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(FIXTURES / f"{name}.py", tmp_path / "train.py")
    monkeypatch.chdir(tmp_path)
    found = [each for each in check(Request(["."], {}, cache=False)).findings if each.code == "GCL816"]
    assert [len(each.fixes) for each in found] == [fixes]
