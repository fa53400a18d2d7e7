"""A project to work in, and this Python's programs run in it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project, which is the working directory."""
    home = tmp_path / "project"
    home.mkdir()
    (home / "requirements.txt").write_text("torch==2.8.0\n")
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def run(project):
    """Run a module of this Python in the project and return what came of it."""

    def call(*arguments, **options):
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=options.pop("cwd", project), **options)

    return call
