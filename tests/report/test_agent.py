"""The format for agents: its whole text, its bounds, its order, and its patches, applied by git."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gclint.check.engine import check, check_paths
from gclint.check.request import Request
from gclint.check.selection import OwnRule
from gclint.cli.parser import build
from gclint.finding import Edit, Finding, Fix, Location
from gclint.fix.edits import Chosen
from gclint.fix.patch import patch_of
from gclint.report.agent import MOST_OF_A_FINDING, MOST_OF_A_REPORT
from gclint.report.content import Report
from gclint.report.formats import render
from gclint.report.mending import by_urgency
from gclint.report.style import Style
from gclint.source.source import parse

PROGRAM = """\
import torch
from torch.utils.checkpoint import checkpoint


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return checkpoint(self.layer, x)


net = Net()
net(torch.ones(2, 4)).sum().backward()
"""
WHOLE = """\
1 finding in 1 file: 1 fragile. 1 fix by `gclint fix`.

[1/1] GCL501 use-reentrant-unspecified (fragile) at train.py:11:16
message: use_reentrant is not given: torch takes True and warns
judged for: torch 2.5.1 (--target)
line: return checkpoint(self.layer, x)
edit: Pass use_reentrant=False [use-reentrant-false]
prove: gclint fix --verify --diff --fixable GCL501 --choose GCL501=use-reentrant-false --target torch=2.5.1 train.py
write: gclint fix --fixable GCL501 --choose GCL501=use-reentrant-false --target torch=2.5.1 train.py
patch (git apply, or patch -p1):
```diff
--- a/train.py
+++ b/train.py
@@ -8,7 +8,7 @@
         self.layer = torch.nn.Linear(4, 4)
 
     def forward(self, x):
-        return checkpoint(self.layer, x)
+        return checkpoint(self.layer, x, use_reentrant=False)
 
 
 net = Net()
```
"""
ASKED = {"select": ("GCL501",), "target": {"torch": "2.5.1"}}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def finding(number: int = 1, **more: object) -> Finding:
    place = Location("train.py", number, 1, number, 2, "here")
    given = {"code": "GCL201", "name": "a-name", "message": "fails", "location": place, "certainty": "fails", **more}
    return Finding(**given)  # type: ignore[arg-type]


def report(*findings: Finding, text: str = "x = 1\n" * 50) -> Report:
    source = parse("train.py", Path("train.py").absolute(), text.encode())
    rule = OwnRule("GCL201", "a-name", "# a\n\n## Use instead\nAnother way.\n\n## When it is fine\nNever.\n")
    return Report(findings, files_checked=1, sources={"train.py": source}, rules={"GCL201": rule})


def patches(text: str) -> list[str]:
    return re.findall(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def git_apply(patch: str, directory: Path) -> None:
    for words in (["git", "init", "-q", "."], ["git", "apply", "-"]):
        subprocess.run(words, input=patch.encode(), cwd=directory, check=True)


def test_the_whole_text_of_a_finding() -> None:
    Path("train.py").write_text(PROGRAM)
    assert render(check(Request((".",), ASKED, cache=False)), "agent", Style(80, True)) == WHOLE


def test_its_patch_applied_by_git_mends_it() -> None:
    Path("train.py").write_text(PROGRAM)
    git_apply(patches(render(check_paths(["."], **ASKED), "agent"))[0], Path())
    assert render(check_paths(["."], **ASKED), "agent") == "No findings in 1 file.\n"


@pytest.mark.parametrize("name", ["train.py", "my train.py", "sub/train.py"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_patches_are_those_of_the_bytes(name: str, newline: str, here: Path) -> None:
    data = PROGRAM.replace("\n", newline).rstrip().encode()
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(data)
    report = check_paths([name], **ASKED)
    (found,) = report.findings
    git_apply(patch_of(Chosen(found, found.fixes[0]), report.sources).text, here)
    assert Path(name).read_bytes() == data.replace(b"layer, x)", b"layer, x, use_reentrant=False)")


def test_patches_are_named_from_the_working_directory_within_a_repository(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", "."], check=True)
    (here / "sub").mkdir()
    (here / "sub" / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(here / "sub")
    git_apply(patches(render(check_paths(["."], **ASKED), "agent"))[0], here / "sub")
    assert not check_paths(["."], **ASKED).findings


def test_files_elsewhere_are_patched_where_they_lie(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "project").mkdir()
    (here / "other").mkdir()
    (here / "project" / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(here / "other")
    text = render(check_paths([here / "project"], **ASKED), "agent")
    assert f"patch (git apply, or patch -p1, in {here / 'project'}):" in text
    git_apply(patches(text)[0], here / "project")
    assert not check_paths([here / "project"], **ASKED).findings


def test_a_notebook_is_patched_as_the_file_it_is(here: Path) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": PROGRAM.splitlines(keepends=True)}]
    Path("nb.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    Path("nb.ipynb").write_text(json.dumps(json.loads(Path("nb.ipynb").read_text()), indent=1) + "\n")
    text = render(check_paths(["."], **ASKED), "agent")
    assert "at nb.ipynb:cell 1:11:16" in text
    git_apply(patches(text)[0], here)
    assert not check_paths(["."], **ASKED).findings


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"# -*- coding: latin-1 -*- \xe9\n" + PROGRAM.encode(), "its file is not UTF-8"),
        (PROGRAM.replace("4, 4)", "4, 4)  # \x1b[31m").encode(), "the lines around it hold control characters"),
    ],
)
def test_what_cannot_be_a_patch_is_said(data: bytes, why: str) -> None:
    Path("train.py").write_bytes(data)
    assert f"train.py\npatch: none, {why}\n" in render(check_paths(["."], **ASKED), "agent")


def test_a_fix_that_breaks_its_file_is_no_patch() -> None:
    made = finding(fixes=(Fix("bad", "Break it", (Edit("train.py", 1, 1, 1, 1, "("),)),))
    text = render(report(made), "agent")
    assert "patch: none, line 1 would not parse" in text and "```" not in text


def test_without_an_edit_it_says_what_to_do_by_hand() -> None:
    told = render(report(finding(), finding(2, help="Call `step` last."), finding(3, certainty="seen")), "agent")
    by_page, by_help, seen = (each for each in told.split("\n\n")[1:4])
    assert by_page.endswith("edit: none by gclint; do this by hand:\n  Another way.\nprove: gclint check train.py")
    assert "do this by hand:\n  Call `step` last.\n" in by_help
    assert seen.endswith("prove: the same rehearsal again")
    assert told.endswith("\nMend the first and check again: what mends one finding can mend others, or uncover them.\n")


def test_the_first_is_the_one_to_mend_first() -> None:
    edit = (Fix("a", "A", (Edit("train.py", 1, 1, 1, 1, "y = 2\n"),)),)
    wanted = [
        finding(9, code="GCL000"),
        finding(8, symptom="RuntimeError: no", fixes=edit),
        finding(7, symptom="RuntimeError: no"),
        finding(6, symptom="silent: nothing is trained"),
        finding(5, certainty="fragile"),
        finding(4, certainty="fragile", symptom="silent: nothing is trained"),
        finding(3, code="GCL002", certainty="fragile"),
    ]
    assert by_urgency(report(*reversed(wanted))) == wanted


def test_each_finding_and_the_whole_are_bounded() -> None:
    long = "word " * 2_000
    places = tuple(Location("train.py", line, 1, line, 2, long) for line in range(1, 41))
    edit = Edit("train.py", 1, 1, 1, 1, "y = 2\n" * 2_000)
    fixes = tuple(Fix(f"fix-{n}", long, (edit,), cost=long) for n in range(20))
    made = finding(message=long, symptom=long, related=places, fixes=fixes, help=long)
    text = render(report(made, text=f"x = '{long}'\n" * 50), "agent")
    assert len(text) <= MOST_OF_A_FINDING + 200 and text.count("  34 more") == 1
    assert re.search(r"\nwrite: gclint fix .*\npatch: \d+ lines, too long to show; use `write`\n$", text)
    many = render(report(*(replace(made, location=place) for place in places)), "agent")
    assert len(many) <= MOST_OF_A_REPORT + 400
    (left,) = re.findall(r"^(\d+) more not shown here \((\d+) GCL201\)", many, re.MULTILINE)
    assert left[0] == left[1] and int(left[0]) + many.count("] GCL201 a-name") == 40


def test_its_commands_are_commands() -> None:
    Path("train.py").write_text(PROGRAM)
    text = render(check_paths(["."], **ASKED), "agent")
    for line in re.findall(r"^(?:prove|write): gclint (.*)$", text, re.MULTILINE):
        words = line.split()
        assert build(words[0])[0].parse_args(words).command == "fix"


def test_a_file_that_is_another_project_alone_is_named_with_what_was_asked(here: Path) -> None:
    (here / "scripts").mkdir()
    (here / "scripts" / "train.py").write_text(PROGRAM)
    assert "GCL501=use-reentrant-false --target torch=2.5.1 ." in render(check_paths(["."], **ASKED), "agent")
    (here / "pyproject.toml").write_text("")
    assert "--target torch=2.5.1 scripts/train.py" in render(check_paths(["."], **ASKED), "agent")
