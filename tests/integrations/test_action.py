"""The composite GitHub Action: valid, and its steps run as a runner runs them."""

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
import yaml

PAGE = Path(__file__).parents[2] / "docs" / "ci.md"
ACTION = Path(__file__).parents[2] / ".github" / "actions" / "gclint" / "action.yml"


@pytest.fixture
def step(project, tmp_path):
    """Run the step that checks, with inputs in place of the defaults; return what came of it."""
    action = yaml.safe_load(ACTION.read_text())
    check = next(item for item in action["runs"]["steps"] if item.get("id") == "check")
    (tmp_path / "python").symlink_to(sys.executable)

    def call(**inputs):
        given = {name: str(item["default"]) for name, item in action["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        environment = {name: given[text[len("${{ inputs.") : -len(" }}")]] for name, text in check["env"].items()}
        for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
            environment[name] = os.fspath(tmp_path / name)
        path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
        environment |= {"RUNNER_TEMP": os.fspath(tmp_path), "PATH": path}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", check["run"]]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=project, env={**os.environ, **environment}, check=False
        )
        return done, (tmp_path / "GITHUB_OUTPUT").read_text()

    return call


def test_findings_annotate_and_fail_the_job(step, project, tmp_path):
    (project / "train.py").write_text(trainings.BAD)
    done, output = step(sarif_file="gclint.sarif")
    assert done.returncode == 1 and output == "findings=1\n", done.stderr
    assert done.stdout.startswith("::warning title=gclint (GCL501),file=train.py,line=11,col=16")
    assert json.loads((project / "gclint.sarif").read_text())["version"] == "2.1.0"
    assert "GCL501" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()


def test_options_and_fail_false(step, project):
    (project / "train.py").write_text(trainings.BAD)
    assert step(fail="false")[0].returncode == 0
    assert step(args="--ignore GCL5")[0].returncode == 0
    assert step(paths="none.py", fail="false")[0].returncode == 2


def test_nothing_found(step, project):
    (project / "train.py").write_text(trainings.GOOD)
    done, output = step()
    assert (done.returncode, done.stdout, output) == (0, "", "findings=0\n")


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-actions", ACTION),
        ("vendor.github-workflows", ACTION.parents[2] / "workflows" / "gclint.yml"),
        ("vendor.github-workflows", ACTION.parents[2] / "workflows" / "docs.yml"),
    ],
)
def test_files_are_valid(schema, file):
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, os.fspath(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_job_for_gitlab_in_a_fresh_clone(project, tmp_path):
    """The lines of the page, but for the installation; GitLab asks for these keys of each issue."""
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    lines = re.search(r"## GitLab\n\n```yaml\n(.+?)```", PAGE.read_text(), re.DOTALL)[1]
    (tmp_path / "gitlab-ci.yml").write_text(lines)
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.gitlab-ci", "gitlab-ci.yml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout
    job = yaml.safe_load(lines)["gclint"]
    shutil.copytree(trainings.SEED, project, dirs_exist_ok=True)
    commit = "git init -q && git add -A && git -c user.name=a -c user.email=a@b.c commit -qm x"
    subprocess.run(commit, shell=True, check=True)
    subprocess.run(["git", "clone", "-q", project, tmp_path / "clone"], check=True)
    check = job["script"][-1].replace("gclint", f"{sys.executable} -m gclint", 1)
    assert subprocess.run(check, shell=True, cwd=tmp_path / "clone", check=False).returncode == 1
    issues = json.loads((tmp_path / "clone" / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [issue["check_name"] for issue in issues] == ["GCL601", "GCL702", "GCL701", "GCL201"]
    assert all({"description", "check_name", "fingerprint", "severity", "location"} <= issue.keys() for issue in issues)


def test_the_configuration_schema_under_check_jsonschema(run, project):
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    (project / "schema.json").write_text(run("gclint", "config", "--schema").stdout)
    (project / "good.json").write_text('{"select": ["GCL2"], "target": {"torch": "2.5"}}')
    (project / "bad.json").write_text('{"selct": ["GCL2"]}')
    assert run("check_jsonschema", "--schemafile", "schema.json", "good.json").returncode == 0
    assert "selct" in run("check_jsonschema", "--schemafile", "schema.json", "bad.json").stdout
