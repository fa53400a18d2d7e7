"""The API as docs/api.md shows it: its example runs, its results pickle."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trainings

import gclint
from gclint.report.formats import FORMATS, render

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="max_tasks_per_child needs Python 3.11")
def test_the_example_for_many_repositories(project):
    example = re.search(r"test_api.py -->\n```python\n(.+?)```", PAGE, re.DOTALL)[1]
    (project / "findings.py").write_text(example)
    for name in ("one", "two"):
        shutil.copytree(trainings.SEED, project / name)
    (project / "bad").mkdir()
    (project / "bad" / "gclint.toml").write_text("selct = []\n")
    command = [sys.executable, "findings.py", "one", "two", "bad"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=project, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    counts = {name: sum(item["repository"] == name for item in found) for name in ("one", "two")}
    assert counts == {"one": 4, "two": 4} and {item["code"] for item in found} >= {"GCL201", "GCL601"}
    assert done.stderr.startswith("bad: BadConfig: ") and done.stderr.count("\n") == 1


def test_the_example_for_one_file(project, capsys):
    example = re.search(r"## One file\n\n```python\n(.+?)```", PAGE, re.DOTALL)[1]
    (project / "train.py").write_text(trainings.BAD)
    made: dict = {}
    exec(example, made)
    assert "GCL501" in capsys.readouterr().out and "use_reentrant=" in made["fixed"]
    assert (project / "train.py").read_text() == trainings.BAD


@pytest.mark.parametrize("judged", ["paths", "source"])
def test_reports_pickle_and_render_the_same(project, judged):
    (project / "train.py").write_text(trainings.BAD)
    report = gclint.check_paths() if judged == "paths" else gclint.check_source(trainings.BAD, "train.py")
    again = pickle.loads(pickle.dumps(report))
    assert again.findings == report.findings and report.findings
    for name in FORMATS:
        assert render(again, name) == render(report, name)
