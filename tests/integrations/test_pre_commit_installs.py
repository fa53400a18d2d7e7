"""The hooks as a user has them: pre-commit clones gclint, installs it from the package index, and runs it.

Installs packages, so not in the default run: `pytest -m corpus tests/integrations/test_pre_commit_installs.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trainings
import yaml

pytest.importorskip("pre_commit", reason="pre-commit is not installed")
pytestmark = pytest.mark.corpus
ROOT = Path(__file__).parents[2]
PACKAGED = ("gclint", "rules", "fixtures", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")


class Repository:
    """A git repository, and git in it; nothing of the user's own configuration counts."""

    def __init__(self, path, hooks):
        self.path = path
        path.mkdir(exist_ok=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))},
            "PRE_COMMIT_HOME": str(hooks), "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b.c",
        }  # fmt: skip
        self("git", "init", "-q")

    def __call__(self, *command):
        return subprocess.run(command, cwd=self.path, env=self.environment, capture_output=True, text=True, check=False)

    def commit(self, *paths):
        self("git", "add", "-A", *paths)
        done = self("git", "commit", "-m", "x")
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A repository whose hooks pre-commit installed from a repository of gclint's sources."""
    home = tmp_path_factory.mktemp("pre-commit")
    upstream = Repository(home / "gclint", home / "none")
    for name in PACKAGED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, upstream.path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, upstream.path / name)
    assert upstream.commit(".")[0] == 0
    made = Repository(home / "project", home / "hooks")
    entry = {"repo": str(upstream.path), "rev": upstream("git", "rev-parse", "HEAD").stdout.strip(),
             "hooks": [{"id": "gclint-fix"}, {"id": "gclint"}]}  # fmt: skip
    (made.path / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [entry]}))
    (made.path / "requirements.txt").write_text("torch==2.8.0\n")
    (made.path / ".gitignore").write_text(".gclint_cache/\n")
    began = time.monotonic()
    done = made(sys.executable, "-m", "pre_commit", "install", "--install-hooks")
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 120
    assert made.commit(".")[0] == 0
    return made


def test_it_installs_without_torch(project):
    (environment,) = Path(project.environment["PRE_COMMIT_HOME"]).glob("repo*/py_env-*")
    packages = {path.name for path in environment.glob("lib/python*/site-packages/*")}
    assert {"gclint", "libcst", "rich"} <= packages and not packages & {"torch", "transformers", "pygls", "numpy"}


def test_a_commit_is_blocked_mended_and_passes(project):
    (project.path / "train.py").write_text(trainings.BAD)
    status, said = project.commit("train.py")
    assert status == 1 and "files were modified by this hook" in said
    assert "use_reentrant=" in (project.path / "train.py").read_text()
    status, said = project.commit("train.py")
    assert status == 0 and said.count("Passed") == 2, said
    assert project("git", "status", "--porcelain").stdout == ""


@pytest.mark.parametrize(
    ("unstaged", "mended"),
    [
        (trainings.BAD + "# not staged\n", True),
        (trainings.BAD.replace("(self.inner, x)", "(self.inner, 2 * x)"), False),
    ],
    ids=["elsewhere", "on the same line"],
)
def test_what_is_staged_counts_and_no_unstaged_change_is_lost(project, unstaged, mended):
    file = project.path / "staged.py"
    file.write_text(trainings.BAD)
    project("git", "add", "staged.py")
    file.write_text(unstaged)
    assert project("git", "commit", "-m", "x").returncode == 1
    left = file.read_text()
    assert left == (trainings.GOOD + "# not staged\n" if mended else unstaged)
    project("git", "rm", "-q", "-f", "--cached", "staged.py")
    file.unlink()


def test_a_rename_a_notebook_and_a_configuration_file(project):
    (project.path / "old.py").write_text(trainings.GOOD)
    assert project.commit("old.py")[0] == 0
    project("git", "mv", "old.py", "new.py")
    (project.path / "new.py").write_text(trainings.BAD.replace("loss.backward()", "loss.backward()\n    print(loss)"))
    cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [],
            "source": trainings.BAD.splitlines(keepends=True)}  # fmt: skip
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (project.path / "train.ipynb").write_text(json.dumps(notebook, indent=1) + "\n")
    bad = (ROOT / "fixtures" / "GCL903" / "bad_accelerate.yaml").read_text()
    (project.path / "accelerate.yaml").write_text(bad)
    status, said = project.commit(".")
    assert status == 1 and "accelerate.yaml:7:3" in said
    for name in ("new.py", "train.ipynb"):
        assert "use_reentrant=" in (project.path / name).read_text(), said
    (project.path / "accelerate.yaml").write_text("".join(x for x in bad.splitlines(True) if "expect" not in x))
    status, said = project.commit(".")
    assert status == 0, said
    assert "new.py" in project("git", "ls-files").stdout and "old.py" not in project("git", "ls-files").stdout
