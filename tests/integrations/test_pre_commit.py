"""The hooks of `.pre-commit-hooks.yaml` under the real pre-commit, in a real repository.

The hooks run the gclint of this environment (`language: system`), so that no network is needed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import trainings
import yaml

pytest.importorskip("pre_commit", reason="pre-commit is not installed")
MANIFEST = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"


@pytest.fixture
def git(project, tmp_path, monkeypatch):
    """Run git in the project, which is a repository with the hook of that id."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "PRE_COMMIT_HOME"):
        monkeypatch.delenv(name, raising=False)
    environment = {
        **os.environ, "HOME": str(tmp_path), "PRE_COMMIT_HOME": str(tmp_path / "hooks"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c",
    }  # fmt: skip

    def call(*arguments):
        return subprocess.run(
            ["git", *arguments], capture_output=True, text=True, cwd=project, env=environment, check=False
        )

    def hook(*ids):
        known = {entry["id"]: entry for entry in yaml.safe_load(MANIFEST.read_text())}
        hooks = []
        for name in ids:
            entry = {**known[name], "language": "system"}
            entry["entry"] = f"{sys.executable} -m {entry['entry']}"
            hooks.append(entry)
        config = {"repos": [{"repo": "local", "hooks": hooks}]}
        (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        call("init", "-q")
        command = [sys.executable, "-m", "pre_commit", "install"]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        call("add", ".pre-commit-config.yaml", "requirements.txt")
        call("commit", "-q", "--no-verify", "-m", "first")
        return call

    return hook


def commit(call, *paths):
    call("add", *paths)
    return call("commit", "-m", "x")


def test_the_manifest_is_valid():
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", os.fspath(MANIFEST)]
    assert subprocess.run(command, check=False).returncode == 0


def test_a_bad_commit_is_blocked_and_a_mended_one_passes(git, project):
    call = git("gclint")
    (project / "train.py").write_text(trainings.BAD)
    blocked = commit(call, "train.py")
    assert blocked.returncode == 1 and "GCL501" in blocked.stderr and "train.py:11:16" in blocked.stderr
    assert call("log", "--oneline").stdout.count("\n") == 1
    (project / "train.py").write_text(trainings.GOOD)
    assert commit(call, "train.py").returncode == 0


def test_fix_mends_and_the_second_commit_passes(git, project):
    call = git("gclint-fix", "gclint")
    (project / "train.py").write_text(trainings.BAD)
    first = commit(call, "train.py")
    assert first.returncode == 1 and "files were modified by this hook" in first.stderr
    assert "use_reentrant" in (project / "train.py").read_text()
    assert commit(call, "train.py").returncode == 0
    assert call("status", "--porcelain").stdout.replace("?? .gclint_cache/\n", "") == ""


def test_what_is_staged_counts_and_not_what_is_not(git, project):
    call = git("gclint")
    (project / "train.py").write_text(trainings.BAD)
    call("add", "train.py")
    (project / "train.py").write_text(trainings.GOOD)
    assert call("commit", "-m", "x").returncode == 1
    assert (project / "train.py").read_text() == trainings.GOOD
    call("add", "train.py")
    (project / "train.py").write_text(trainings.BAD)
    assert call("commit", "-m", "x").returncode == 0
    assert (project / "train.py").read_text() == trainings.BAD


def test_a_rename_is_judged_under_its_new_name(git, project):
    call = git("gclint")
    (project / "train.py").write_text(trainings.BAD)
    call("add", "train.py")
    call("commit", "-q", "--no-verify", "-m", "known")
    call("mv", "train.py", "trainer.py")
    (project / "trainer.py").write_text(trainings.BAD + "print(loss)\n")
    done = commit(call, "trainer.py")
    assert done.returncode == 1 and "trainer.py:11:16" in done.stderr


def test_a_notebook(git, project):
    call = git("gclint-fix", "gclint")
    cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [],
            "source": trainings.BAD.splitlines(keepends=True)}  # fmt: skip
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (project / "train.ipynb").write_text(json.dumps(notebook, indent=1) + "\n")
    first = commit(call, "train.ipynb")
    assert first.returncode == 1 and "files were modified by this hook" in first.stderr
    assert "use_reentrant=False" in (project / "train.ipynb").read_text()
    assert commit(call, "train.ipynb").returncode == 0


def test_a_configuration_file(git, project):
    call = git("gclint")
    bad = (MANIFEST.parent / "fixtures" / "GCL903" / "bad_accelerate.yaml").read_text()
    (project / "accelerate.yaml").write_text(bad)
    blocked = commit(call, "accelerate.yaml")
    assert blocked.returncode == 1 and "accelerate.yaml:7:3" in blocked.stderr
    (project / "accelerate.yaml").write_text("".join(x for x in bad.splitlines(True) if "expect" not in x))
    assert commit(call, "accelerate.yaml").returncode == 0


def test_what_is_excluded_is_left_alone(git, project):
    call = git("gclint")
    (project / "gclint.toml").write_text('extend-exclude = ["old"]\n')
    (project / "old").mkdir()
    (project / "old" / "train.py").write_text(trainings.BAD)
    assert commit(call, "old/train.py", "gclint.toml").returncode == 0
