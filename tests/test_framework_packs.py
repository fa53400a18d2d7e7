"""Frameworks of other packages: found through their entry points, asked, and named where they raise."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from test_packs import gclint
from test_packs import install as install_rules

FRAMEWORK = '''"""What acme does."""
from gclint.run.values import of
from gclint.frameworks.registry import Framework

framework = Framework("acme")


@framework.function("acme:build")
def build(call):
    return of(call.make("model", "acme.Model"))


@framework.function("acme:train")
def train(call):
    model = call.get("model", 0).objects()[0]
    loss = of(call.it.new("tensor", "", "", call.site))
    call.run.facts["acme"] = model.kind
    return loss
'''
RULE = '''"""acme-trains (XYZ301)

## What it does
Finds an acme program.
"""
from gclint.run.events import RunEnded
from gclint.rule import Rule

rule = Rule(code="XYZ301", name="acme-trains", docs=__doc__, words=(("acme",),))


@rule.on(RunEnded)
def question(event, run):
    if run.facts.get("acme") == "model":
        yield rule.finding(run, event.site, "acme trains a model")
'''
PROGRAM = "import acme\n\nmodel = acme.build()\nacme.train(model)\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory of installed packages: acme's rule and framework."""
    install_rules(tmp_path, "XYZ300")
    (tmp_path / "their_rules/one.py").write_text(RULE)
    (tmp_path / "acme_gclint.py").write_text(FRAMEWORK)
    info = tmp_path / "acme_gclint-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-gclint\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gclint.frameworks]\nacme = acme_gclint\n")
    return tmp_path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    write(made / "train.py", PROGRAM)
    write(made / "pyproject.toml", "")
    return made


def write(path: Path, text: str) -> None:
    """Write a file that is a minute old, so that it is trusted not to be written at this moment."""
    path.write_text(text)
    then = time.time() - 60
    os.utime(path, (then, then))


def checked(project: Path, site: Path) -> tuple[int, str, str]:
    """Check twice: the first check makes the cache's directory, which `python -m` has on its path."""
    gclint(project, "check", ".", path=site)
    made = gclint(project, "check", ".", "--output-format", "concise", path=site)
    return made.returncode, made.stdout, made.stderr


def test_without_the_framework_nobody_knows_the_library(site: Path, project: Path) -> None:
    (site / "acme_gclint-1.0.dist-info/entry_points.txt").unlink()
    assert checked(project, site) == (0, "No findings in 1 file.\n", "")


def test_the_framework_is_asked(site: Path, project: Path) -> None:
    status, out, err = checked(project, site)
    assert status == 1 and "XYZ301 acme trains a model" in out and err == ""


def test_one_that_cannot_be_imported_is_named_by_file_and_line_and_the_others_go_on(site: Path, project: Path) -> None:
    (site / "acme_gclint.py").write_text("import math\nmath.sqrt(-1)\n")
    write(project / "train.py", PROGRAM + "x = 1  # noqa: GCL201\n")
    status, out, err = checked(project, site)
    assert status == 2 and "GCL001" in out and "XYZ301" not in out and err.count("\n") == 1
    assert "framework module acme_gclint cannot be imported: ValueError" in err and "acme_gclint.py:2)" in err


def test_one_that_raises_is_named_with_the_place_it_was_asked_about(site: Path, project: Path) -> None:
    (site / "acme_gclint.py").write_text(
        FRAMEWORK.replace("    model = call", "    raise KeyError('x')\n    model = call")
    )
    write(project / "train.py", PROGRAM + "x = 1  # noqa: GCL201\n")
    status, out, err = checked(project, site)
    assert status == 2 and "GCL001" in out and err.count("\n") == 1
    assert "train.py:4: framework acme failed: KeyError('x') (at " in err and "acme_gclint.py:15)" in err


def test_what_is_remembered_holds_while_no_pack_changes(site: Path, project: Path) -> None:
    first = checked(project, site)
    assert first[0] == 1 and "recalling" not in first[2]
    again = gclint(project, "check", ".", "--output-format", "concise", "--timing", path=site)
    assert again.stdout == first[1] and "walking" not in again.stderr


@pytest.mark.parametrize("file", ["acme_gclint.py", "their_rules/one.py"])
def test_a_pack_that_is_edited_is_asked_again(file: str, site: Path, project: Path) -> None:
    assert checked(project, site)[0] == 1
    edited = (site / file).read_text().replace('"acme:train"', '"acme:other"').replace('== "model"', '== "other"')
    write(site / file, edited)  # as long as before: Python trusts its bytecode of a file of the same size and second
    assert checked(project, site)[:2] == (0, "No findings in 1 file.\n")


def test_a_rule_added_to_a_pack_is_asked(site: Path, project: Path) -> None:
    assert checked(project, site)[0] == 1
    (site / "their_rules/two.py").write_text(RULE.replace("XYZ301", "XYZ302"))
    assert "XYZ302" in checked(project, site)[1]


def test_a_pack_that_is_installed_or_removed_is_noticed(site: Path, project: Path) -> None:
    points = site / "acme_gclint-1.0.dist-info"
    away = site / "acme_gclint-1.0.gone"
    points.rename(away)
    assert checked(project, site)[0] == 0
    away.rename(points)
    assert checked(project, site)[0] == 1
    points.rename(away)
    assert checked(project, site)[0] == 0
