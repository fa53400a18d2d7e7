"""A project to work in, and this Python's programs run in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
import trainings


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


@pytest.fixture
def preflight(project, run):
    """Run `gclint preflight` with launchers that say how they were started."""
    shutil.copytree(trainings.SEED, project, dirs_exist_ok=True)
    programs = project / "bin"
    programs.mkdir()
    for name in ("torchrun", "python", "accelerate", "deepspeed", "srun"):
        (programs / name).write_text(f'#!/bin/sh\necho "started {name} $@"\nexit 7\n')
        (programs / name).chmod(0o755)

    def call(*arguments, **options):
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, **options.pop("env", {})}
        for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
            environment.pop(name, None)
        return run("gclint", "preflight", *arguments, env={**environment, **options.pop("set", {})}, **options)

    return call
