"""Rules of other packages: found through their entry points, in conflict told by name; and new ones started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RULE = '''"""# no-sum (XYZ101)

## What it does
Finds a backward.
"""
from gclint.run.events import Backward
from gclint.rule import Rule

rule = Rule(code="{code}", name="no-sum", docs=__doc__, words=(("backward",),))


@rule.on(Backward)
def question(event, run):
    yield rule.finding(run, event.site, "a backward")
'''
VISITOR = '''"""# no-sum (XYZ101)

## What it does
Finds a backward in a file with calls that end in a comma.
"""
import libcst as cst

from gclint.run.events import Backward
from gclint.rule import Rule

rule = Rule(code="{code}", name="no-sum", docs=__doc__, words=(("backward",),))


class Commas(cst.CSTVisitor):
    def __init__(self):
        self.count = 0

    def visit_Arg(self, node):
        self.count += isinstance(node.comma, cst.Comma)


@rule.on(Backward)
def question(event, run):
    module, commas = event.site.module, Commas()
    module.concrete(module.tree).visit(commas)
    called = module.concrete(event.site.node)
    yield rule.finding(run, event.site, f"{commas.count} commas, {len(called.args)} arguments")
'''
PROGRAM = "import torch\nx = torch.ones(1, requires_grad=True)\nx.sum().backward()\n"


def install(directory: Path, code: str, rule: str = RULE) -> None:
    package = directory / "their_rules"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text(rule.replace("{code}", code))
    info = directory / "their_pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gclint.rules]\ntheirs = their_rules\n")


def gclint(where: Path, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path or ""), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, "-m", "gclint", *arguments],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_pack_is_found_and_asked(tmp_path: Path) -> None:
    install(tmp_path, "XYZ101")
    (tmp_path / "train.py").write_text(PROGRAM)
    made = gclint(tmp_path, "check", "train.py", "--select", "XYZ", "--output-format", "concise", path=tmp_path)
    assert made.returncode == 1 and "train.py:3:1: XYZ101 a backward" in made.stdout


def test_a_pack_may_visit_concrete_syntax(tmp_path: Path) -> None:
    install(tmp_path, "XYZ101", VISITOR)
    (tmp_path / "train.py").write_text(PROGRAM.replace("sum()", "sum(0,)").replace("backward()", "backward(None)"))
    made = gclint(tmp_path, "check", "train.py", "--select", "XYZ", "--output-format", "concise", path=tmp_path)
    assert "train.py:3:1: XYZ101 2 commas, 1 arguments" in made.stdout, made.stdout + made.stderr


def test_a_code_that_is_taken_is_an_error_of_one_line(tmp_path: Path) -> None:
    install(tmp_path, "GCL201")
    (tmp_path / "train.py").write_text(PROGRAM)
    made = gclint(tmp_path, "check", "train.py", path=tmp_path)
    assert made.returncode == 2 and "GCL201 is taken" in made.stderr and made.stderr.count("\n") == 1


def test_a_code_that_flake8_would_not_take_is_an_error(tmp_path: Path) -> None:
    install(tmp_path, "LONGER1")
    made = gclint(tmp_path, "rule", "--all", path=tmp_path)
    assert made.returncode == 2 and "LONGER1" in made.stderr and "Traceback" not in made.stderr


def test_a_new_rule_is_started_and_loads(tmp_path: Path) -> None:
    made = gclint(tmp_path, "new-rule", "abc101", "my-rule")
    assert made.returncode == 0
    assert (tmp_path / "abc101_my_rule.py").exists() and (tmp_path / "fixtures/ABC101/bad_first.py").exists()
    loaded = subprocess.run(
        [sys.executable, "-c", "import abc101_my_rule as m; print(m.rule.code, m.rule.name)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout == "ABC101 my-rule\n"


def test_a_new_rule_overwrites_nothing(tmp_path: Path) -> None:
    gclint(tmp_path, "new-rule", "ABC101", "my-rule")
    again = gclint(tmp_path, "new-rule", "ABC101", "my-rule")
    taken = gclint(tmp_path, "new-rule", "GCL201", "other")
    assert again.returncode == taken.returncode == 2
    assert "there already" in again.stderr and "there already" in taken.stderr
