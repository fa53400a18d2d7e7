"""The project's environment: which it is, and that what is installed there decides where nothing is pinned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gclint.installed import OWN, environment_of
from gclint.pins.versions import targets_for

CODE = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"


@pytest.fixture(autouse=True)
def nothing_activated(monkeypatch):
    """No environment is activated, whatever the tests are started in."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)


def _environment(place: Path, **releases: str) -> Path:
    packages = place / "lib" / "python3.12" / "site-packages"
    packages.mkdir(parents=True)
    for name, release in releases.items():
        (packages / f"{name}-{release}.dist-info").mkdir()
    return place


def test_without_another_environment_it_is_that_of_gclint(tmp_path):
    assert environment_of(str(tmp_path)) is OWN
    (tmp_path / ".venv").mkdir()
    assert environment_of(str(tmp_path)) is OWN


def test_an_environment_without_torch_runs_none_of_the_programs(tmp_path):
    _environment(tmp_path / ".venv", ruff="0.8.0")
    assert environment_of(str(tmp_path)) is OWN


def test_the_projects_own_decides_for_what_is_not_pinned(tmp_path):
    _environment(tmp_path / ".venv", torch="2.5.1+cu121", transformers="4.46.3")
    targets = targets_for(tmp_path)
    assert (str(targets["torch"].version), targets["torch"].origin) == ("2.5.1", "installed")
    assert str(targets.basis("transformers")).endswith("4.46.3 (installed in " + str(tmp_path / ".venv") + ")")
    assert targets["peft"].origin in ("newest", "unknown")  # not there, whatever gclint's own environment has
    (tmp_path / "requirements.txt").write_text("torch==2.4.0\n")
    assert str(targets_for(tmp_path)["torch"].version) == "2.4.0"


def test_the_activated_one_comes_before_the_projects_own(tmp_path, monkeypatch):
    _environment(tmp_path / ".venv", torch="2.5.1")
    monkeypatch.setenv("VIRTUAL_ENV", str(_environment(tmp_path / "other", torch="2.6.0")))
    assert str(targets_for(tmp_path)["torch"].version) == "2.6.0"


def test_an_activated_one_that_gclint_is_alone_in_is_not_it(tmp_path, monkeypatch):
    """As pre-commit activates the hook's own environment."""
    _environment(tmp_path / ".venv", torch="2.5.1")
    monkeypatch.setenv("VIRTUAL_ENV", str(_environment(tmp_path / "hook", gclint="0.1.0")))
    assert str(targets_for(tmp_path)["torch"].version) == "2.5.1"


def test_a_release_that_comes_later_is_seen_and_no_report_is_recalled_for_it(tmp_path):
    (tmp_path / "train.py").write_text(CODE)
    first = _environment(tmp_path / ".venv", torch="2.2.2")
    assert "GCL902" not in _told(tmp_path)
    site = first / "lib" / "python3.12" / "site-packages"
    (site / "torch-2.2.2.dist-info").rename(site / "torch-2.6.0.dist-info")
    os.utime(site, ns=(1, 1))
    told = _told(tmp_path)
    assert "GCL902" in told and "torch 2.6.0 (installed in .venv)" in told


def _told(project: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gclint", "check", "."], cwd=project, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr
