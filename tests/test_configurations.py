"""Rules on configuration files that hold no comments, and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.engine import check_paths
from gclint.ir.configs import read_document


def test_a_deepspeed_file_is_judged_at_the_line_of_its_key(tmp_path: Path) -> None:
    file = tmp_path / "zero.json"
    file.write_text('{"zero_optimization": {"stage": 2},\n "fp16": {"enabled": true},\n "bf16": {"enabled": true}}')
    found = check_paths([str(file)]).findings
    assert [(item.code, item.location.line, item.related[0].line) for item in found] == [("GCL903", 2, 3)]


def test_auto_is_no_answer_and_broken_files_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "zero.json"
    file.write_text('{"zero_optimization": {}, "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}}')
    (tmp_path / "broken.json").write_text('{"zero_optimization": ')
    report = check_paths([str(tmp_path)])
    assert report.findings == () and report.problems == ()


@pytest.mark.parametrize(("text", "kind"), [('{"lr": [1, 2]}', "json"), ("{lr: [1, 2]}", "yaml"), ("lr: 1", "yaml")])
def test_what_no_suffix_names_is_read_as_what_it_is(text: str, kind: str) -> None:
    document = read_document(text, Path("split.txt"))
    assert document.kind == kind
    assert list(document.value) == ["lr"]
