"""What fails with a release that is only assumed, and not with an older one, is fragile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gclint.cli import main
from gclint.pins import versions

PROGRAM = """import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.save(nn.Linear(2, 2), "model.pt")
model = torch.load("model.pt")
y = checkpoint(nn.Linear(2, 2), torch.randn(2, 2), use_reentrant=True)
y.sum().backward()
"""
ASSUMED = "; it is so from torch 2.6.0 on, and nothing says which release runs [torch 2.13.0 (assumed)]"


@pytest.fixture(autouse=True)
def nothing_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(versions, "_installed", lambda package: None)
    versions._without_pin.cache_clear()
    (tmp_path / "train.py").write_text(PROGRAM)
    yield
    versions._without_pin.cache_clear()


def told(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["check", "--no-cache", "--output-format", "concise", "."]) == 1
    return capsys.readouterr().out


@pytest.mark.parametrize("pin", ["torch>=2.6", "torch==2.8.0"])
def test_what_is_known_to_run_may_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str], pin: str) -> None:
    (tmp_path / "requirements.txt").write_text(f"{pin}\n")
    out = told(capsys)
    assert ASSUMED not in out and "GCL307" in out and "2 failing" in out


def test_what_is_assumed_fails_only_where_the_oldest_release_fails_too(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys).splitlines()
    assert [line.endswith(ASSUMED) for line in lines if "GCL307" in line] == [True]
    assert [ASSUMED in line for line in lines if "GCL502" in line] == [False]
    assert "1 failing, 1 fragile" in lines[-1]
