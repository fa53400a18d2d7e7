"""A part of gclint, or of a pack, that raises is named with file and line; the others go on, and the status is 2."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gclint.check.engine import check
from gclint.check.findings import builtin_judge
from gclint.check.request import Request
from gclint.cli import main
from gclint.frameworks import torch_training
from gclint.run.interpreter import Interpreter
from test_packs import PROGRAM, gclint, install


def test_packs_that_work_cause_no_problem(tmp_path: Path) -> None:
    install(tmp_path, "XYZ101")
    (tmp_path / "train.py").write_text(PROGRAM)
    made = gclint(tmp_path, "check", "train.py", "--ignore", "XYZ", path=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")


def test_a_pack_that_cannot_be_imported_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    install(tmp_path, "XYZ101")
    (tmp_path / "their_rules/two.py").write_text("x = 1\nraise ValueError('two\\nlines')\n")
    (tmp_path / "train.py").write_text(PROGRAM + "x = 1  # noqa: GCL201\n")
    made = gclint(tmp_path, "check", "train.py", "--output-format", "concise", path=tmp_path)
    assert made.returncode == 2 and "train.py:4" in made.stdout and "GCL001" in made.stdout
    assert "rule pack their_rules cannot be imported" in made.stderr and "two.py:2" in made.stderr
    assert made.stderr.count("\n") == 1


def test_a_rule_that_raises_is_named_with_the_place_it_was_asked_about(tmp_path: Path) -> None:
    install(tmp_path, "XYZ101")
    rule = tmp_path / "their_rules/one.py"
    good = rule.read_text()
    rule.write_text(good.replace("    yield", "    raise KeyError('lost')\n    yield"))
    (tmp_path / "their_rules/two.py").write_text(good.replace("XYZ101", "XYZ102").replace("a backward", "told"))
    (tmp_path / "train.py").write_text(PROGRAM)
    made = gclint(tmp_path, "check", "train.py", "--output-format", "concise", path=tmp_path)
    assert made.returncode == 2 and "train.py:3:1: XYZ102 told" in made.stdout
    assert "train.py:3: rule XYZ101 failed: KeyError('lost') (at " in made.stderr and "one.py:14)" in made.stderr
    assert made.stderr.count("\n") == 1


HOLDS_ITSELF = """import random
from torch.utils.checkpoint import checkpoint

held = []
around = [held]
held.append(around)


def block(x):
    return x * random.random()


if held {operator} other:
    checkpoint(block, inputs, use_reentrant=False)
"""


@pytest.mark.parametrize("operator", ["<", "==", "in", "is", "< limit <"])
def test_a_list_that_holds_itself_is_compared(tmp_path: Path, operator: str) -> None:
    (tmp_path / "train.py").write_text(HOLDS_ITSELF.format(operator=operator))
    report = check(Request([str(tmp_path)], cache=False), builtin_judge())
    assert report.problems == ()
    assert [finding.code for finding in report.findings] == ["GCL506"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM + "x = 1  # noqa: GCL201\n")
    return tmp_path


def raising(*ignored: object) -> None:
    raise ZeroDivisionError("in a framework")


def test_a_framework_that_raises_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("methods", "functions"):
        for key in getattr(torch_training.framework, table):
            monkeypatch.setitem(getattr(torch_training.framework, table), key, raising)
    judge = builtin_judge()
    ungated = replace(judge, gated=False, rules=tuple(replace(rule.load(), words=()) for rule in judge.rules))
    report = check(Request(["train.py"], cache=False), ungated)
    assert report.failed and [item.code for item in report.findings] == ["GCL001"]
    assert [(item.path, item.line) for item in report.problems] == [("train.py", 3)]
    assert "framework torch" in report.problems[0].what and "test_failures.py" in report.problems[0].what


def test_a_framework_module_that_cannot_be_imported_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "gclint.frameworks.vision", None)
    (project / "train.py").write_text(PROGRAM.replace("torch", "torch.nn.parallel.DistributedDataParallel", 1))
    status = main(["check", "train.py", "--no-cache", "--output-format", "concise"])
    err = capfd.readouterr().err
    assert status == 2 and "framework module gclint.frameworks.vision cannot be imported" in err


def test_a_walk_that_fails_leaves_the_other_programs_walked(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "other.py").write_text(PROGRAM)
    walk = Interpreter.walk_module

    def walked(it: Interpreter, module: object, *others: object) -> None:
        if getattr(module, "path", "") == "other.py":
            raise ZeroDivisionError
        walk(it, module, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(Interpreter, "walk_module", walked)
    status = main(["check", ".", "--no-cache", "--output-format", "concise"])
    out, err = capfd.readouterr()
    assert status == 2 and "GCL001" in out and "other.py:1: the analysis failed: ZeroDivisionError()" in err
