from __future__ import annotations

import os

import fake_analysis
import pytest


@pytest.fixture
def judged(project, monkeypatch):
    """How often the analysis has been asked; every file written here is ten seconds old."""
    asked = []

    def analyse(*arguments):
        asked.append(1)
        return fake_analysis.analyse(*arguments)

    judge = fake_analysis.Judge(analyse, fake_analysis.RULES, gated=False)
    monkeypatch.setattr("gclint.check.engine.judge_for", lambda request: judge)
    return asked


def write(path, text, age=10):
    path.write_text(text)
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))


def test_an_unchanged_project_is_not_judged_again(gclint, project, judged):
    write(project / "a.py", "boom(1)\n")
    first = gclint("check")
    assert gclint("check") == first and first[0] == 1 and len(judged) == 1


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda p: write(p / "a.py", "boom(2)\n", 9), id="a file's content"),
        pytest.param(lambda p: write(p / "b.py", "", 9), id="a new file"),
        pytest.param(lambda p: write(p / "launch.sh", "", 9), id="a new launcher"),
        pytest.param(lambda p: write(p / "gclint.toml", "ignore = ['GCL2']\n", 9), id="the configuration"),
        pytest.param(lambda p: (p / "a.py").unlink(), id="a file gone"),
    ],
)
def test_any_change_is_judged(gclint, project, judged, change):
    write(project / "a.py", "boom(1)\n")
    write(project / "kept.py", "")
    write(project / "pyproject.toml", "")
    gclint("check")
    change(project)
    gclint("check")
    assert len(judged) == 2


def test_other_options_are_judged_on_their_own(gclint, project, judged):
    write(project / "a.py", "boom(1)\nshaky(1)\n")
    gclint("check")
    assert gclint("check", "--select", "GCL2", "--output-format", "concise")[1].count("GCL") == 1
    gclint("check", "--no-cache")
    assert len(judged) == 3


def test_a_file_written_just_now_is_not_trusted(gclint, project, judged):
    write(project / "a.py", "boom(1)\n", age=0)
    gclint("check")
    gclint("check")
    assert len(judged) == 2 and not (project / ".gclint_cache").exists()


def test_what_could_not_be_judged_is_not_remembered(gclint, project, judged):
    write(project / "a.py", "raise_here\n")
    gclint("check")
    assert gclint("check")[0] == 2 and len(judged) == 2


def test_damage_is_ignored_and_clean_removes(gclint, project, judged):
    write(project / "a.py", "boom(1)\n")
    first = gclint("check")
    for path in (project / ".gclint_cache").glob("*.json"):
        path.write_text('{"report": {"state": 3}}')
    assert gclint("check") == first and len(judged) == 2
    assert "Removed" in gclint("clean")[1] and not (project / ".gclint_cache").exists()


def test_recalled_reports_are_the_same_in_every_format(gclint, project, judged):
    write(project / "a.py", "boom(1)\nshaky(2)\n")
    for name in ("full", "json", "gitlab", "junit", "markdown", "github"):
        assert gclint("check", "--output-format", name) == gclint("check", "--output-format", name, "--no-cache")
