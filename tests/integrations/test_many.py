"""Many repositories: each is judged by itself, a bad one costs a row, and a job that was ended goes on."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trainings

from gclint.config import BadConfig
from gclint.many import COLUMNS, check_repositories, rows_in, write_rows

PAGE = (Path(__file__).parents[2] / "docs" / "many.md").read_text()


@pytest.fixture
def repositories(project):
    """Two with findings, one without, one whose configuration is wrong, one that does not parse, one that is not."""
    for name in ("one", "two"):
        shutil.copytree(trainings.SEED, project / name)
    for name, file, text in (
        ("fine", "train.py", trainings.GOOD),
        ("wrong", "gclint.toml", "selct = []\n"),
        ("broken", "train.py", trainings.BAD + "(\n"),
    ):
        (project / name).mkdir()
        (project / name / file).write_text(text)
    return [str(project / name) for name in ("one", "wrong", "fine", "gone", "broken", "two")]


def told(rows):
    """What is told of each repository: the codes of its findings, and what else there is."""
    found = {}
    for row in rows:
        what = row["code"] if row["kind"] == "finding" else row["kind"]
        found.setdefault(os.path.basename(row["repository"]), []).append(what)
    return found


SEED = ["GCL601", "GCL702", "GCL701", "GCL201", "repository"]
ALL = {
    "one": SEED,
    "wrong": ["failed"],
    "fine": ["repository"],
    "gone": ["failed"],
    "broken": ["problem", "repository"],
    "two": SEED,
}


def test_a_bad_repository_costs_a_row_and_the_others_go_on(repositories):
    before = sorted(Path(repositories[0]).rglob("*"))
    rows = check_repositories(repositories)
    assert told(rows) == ALL and all(list(row) == list(COLUMNS) for row in rows)
    assert sorted(Path(repositories[0]).rglob("*")) == before
    reasons = [row["message"] for row in rows if row["kind"] == "failed"]
    assert reasons[0].endswith("gclint.toml:1: unknown key `selct`; did you mean `select`?")
    assert reasons[1].startswith(f"{repositories[3]}: No such file or directory") and len(reasons) == 2
    (place,) = [row for row in rows if row["repository"] == repositories[0] and row["code"] == "GCL201"]
    assert (place["path"], place["line"], place["column"]) == ("src/baseline_sft/train_sft_abel.py", 48, 32)
    assert place["versions"].startswith("torch 2.4.0 (requirements.txt:2)")
    assert place["this_run"].startswith("torchrun starts it on 8 processes (") and isinstance(place["help"], str)
    end = rows[len(SEED) - 1]
    assert end["files"] == 4 and end["seconds"] > 0


def test_settings_are_those_of_a_check(repositories):
    rows = check_repositories(repositories[:1], select=("GCL7",), target={"torch": "2.5"})
    assert [row["code"] for row in rows if row["kind"] == "finding"] == ["GCL702", "GCL701"]
    with pytest.raises(BadConfig, match="did you mean `select`"):
        check_repositories(repositories, selct=("GCL7",))


def test_what_is_killed_or_not_done_in_time_costs_a_row(repositories, monkeypatch):
    late = check_repositories(repositories[:1], limit=0.01)
    assert [row["message"] for row in late] == ["not done after 0.01 s"] and late[0]["seconds"] < 5
    killed = (
        "import os, sys\n"
        "for line in sys.stdin:\n"
        "    'one' in line and os.kill(os.getpid(), 9)\n"
        """    print('[{"kind": "repository"}]', flush=True)"""
    )
    monkeypatch.setattr("gclint.many._START", killed)
    rows = check_repositories([*repositories[:1], repositories[2], *repositories[:1]])
    assert [row["message"] for row in rows] == ["killed by signal 9", None, "killed by signal 9"]


def test_a_file_of_a_repository_is_never_imported(project):
    (project / "json.py").write_text("import os; os.kill(os.getpid(), 9)\n")
    (project / "gclint").mkdir()
    (project / "gclint" / "__init__.py").write_text("raise SystemExit('imported')\n")
    assert told(check_repositories([project])) == {"project": ["repository"]}


def test_what_is_done_is_kept_and_what_failed_is_tried_again(repositories, tmp_path, monkeypatch):
    into = tmp_path / "found"
    check_repositories(repositories[:3], into)
    first = {row["repository"]: row["seconds"] for row in rows_in(into) if row["kind"] == "repository"}
    (Path(repositories[1]) / "gclint.toml").unlink()
    rows = check_repositories(repositories, into)
    assert told(rows) == {**ALL, "wrong": ["repository"]}
    assert {row["seconds"] for row in rows if row["repository"] in first} >= set(first.values())
    assert sorted(map(json.dumps, rows_in(into))) == sorted(map(json.dumps, rows))
    monkeypatch.setattr("gclint.many._START", "raise SystemExit('asked again')")
    assert told(check_repositories(repositories, into)) == told(rows)


def test_the_rows_as_one_file(repositories, tmp_path):
    rows = check_repositories(repositories[:3], tmp_path / "found")
    write_rows(tmp_path / "found", tmp_path / "found.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert lines == list(rows_in(tmp_path / "found")) and told(lines) == told(rows)
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    write_rows(tmp_path / "found", tmp_path / "found.parquet")
    assert parquet.read_table(tmp_path / "found.parquet").to_pylist() == lines


@pytest.fixture
def script(project, repositories):
    """Start the script of the page on the repositories and return what is told of them."""
    (project / "many.py").write_text(re.search(r"test_many.py -->\n```python\n(.+?)```", PAGE, re.DOTALL)[1])
    (project / "list.txt").write_text("\n".join(repositories) + "\n")

    def start(*engine, **environment):
        command = [sys.executable, "many.py", "list.txt", str(project / "found"), *engine]
        subprocess.run(command, cwd=project, check=True, env={**os.environ, **environment}, capture_output=True)
        return told(rows_in(project / "found"))

    return start


def test_the_script_alone(script):
    assert script() == ALL


def test_the_script_in_an_array_of_slurm(script):
    def task(number):
        names = {"SLURM_ARRAY_TASK_ID": f"{number}", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_COUNT": "2"}
        return script(**names)

    assert set(task(3)) == {"one", "fine", "broken"}
    assert task(4) == ALL


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_the_script_on_an_engine(script, engine):
    pytest.importorskip({"dask": "distributed"}.get(engine, engine), reason=f"{engine} is not installed")
    assert script(engine) == ALL
