"""What fails with a release that is only assumed, and not with an older one, is fragile."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gclint.cli import main
from gclint.ir.syntax import Module, Site
from gclint.pins import versions
from gclint.pins.versions import Targets
from gclint.run.run import Run

PROGRAM = """import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.save(nn.Linear(2, 2), "model.pt")
model = torch.load("model.pt")
y = checkpoint(nn.Linear(2, 2), torch.randn(2, 2), use_reentrant=True)
y.sum().backward()
"""
ASSUMED = "; it is so from torch 2.6.0 on, and nothing says which release runs [torch 2.15.0 (assumed)]"


@pytest.fixture(autouse=True)
def nothing_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(versions, "_installed", lambda package, environment: None)
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


def test_what_people_are_told_to_install_silences_what_does_not_hold_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("pip install torch==1.13.1")
    out = told(capsys)
    assert "GCL307" not in out and "[torch 2.4.1 to 2.15.0 (every supported release)]" in out
    (tmp_path / "requirements.txt").write_text("torch==2.8.0")
    assert "GCL307" in told(capsys)


def test_a_hint_alone_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text("import torch\n\nscaler = torch.cuda.amp.GradScaler()\n")
    (tmp_path / "README.md").write_text("pip install torch==2.3.1")
    assert main(["check", "--no-cache", "."]) == 0
    (tmp_path / "README.md").write_text("pip install torch==2.5.1")
    assert "judged for: torch 2.15.0 (assumed)" in (main(["check", "--no-cache", "."]), capsys.readouterr().out)[1]


WORKERS = """import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Items(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((1,), np.random.rand())


model = torch.nn.Linear(1, 1)
optimizer = torch.optim.Adam(model.parameters())
loader = DataLoader(Items(), num_workers=2)
for epoch in range(3):
    for batch in loader:
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
"""


def test_a_readme_tells_of_a_torch_that_seeds_no_numpy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text(WORKERS)
    (tmp_path / "README.md").write_text("PyTorch 1.9.0")
    assert main(["check", "."]) == 0
    (tmp_path / "README.md").write_text("Needs\nPyTorch 1.4.0")
    capsys.readouterr()
    assert main(["check", "."]) == 1
    out = capsys.readouterr().out
    assert "torch before 1.9, of which README.md:2 tells, does not seed NumPy" in out and "judged for" not in out
    (tmp_path / "requirements.txt").write_text("torch==2.8.0")
    assert main(["check", "."]) == 0


def test_a_pin_is_shown_from_where_people_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "inner").mkdir()
    (tmp_path / "train.py").rename(tmp_path / "inner" / "train.py")
    (tmp_path / "inner" / "pyproject.toml").write_text('[project]\ndependencies = ["torch==2.8.0"]\n')
    assert "[torch 2.8.0 (inner/pyproject.toml:2)]" in told(capsys)


def test_only_what_a_program_imports_is_named() -> None:
    run = Run(Targets())
    assert run.used(("torch", "transformers")) == ("torch", "transformers")
    run.imported["torch"] = run.imported["torch.nn"] = Site.at(Module("", "", ast.Module([], [])), ast.Module([], []))
    assert run.used(("torch", "transformers")) == ["torch"]


ENGINE = """import misc


def train(model, loader, optimizer):
    held = misc.Meter()
    for x in loader:
        loss = model(x).mean()
        held.add(loss)
        loss.backward()
        optimizer.step()
"""
MISC = """import torch
from torch._six import inf


class Meter:
    def __init__(self):
        self.seen = []

    def add(self, x):
        self.seen.append(x)


def norm(model):
    return torch.norm(torch.stack([p.grad.norm(inf) for p in model.parameters()]))
"""


@pytest.mark.parametrize("options", [(), ("--select", "GCL906")])
def test_a_walk_for_another_release_goes_through_what_the_first_one_did(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only another rule's words lead from the one file to the other."""
    (tmp_path / "train.py").unlink()
    (tmp_path / "engine.py").write_text(ENGINE)
    (tmp_path / "misc.py").write_text(MISC)
    assert main(["check", "--no-cache", "--output-format", "concise", *options, "."]) == 1
    out = capsys.readouterr().out
    assert "misc.py:2:1: GCL906 [*] `torch._six` is gone [torch 2.4.1 to 2.15.0 (every supported release)]" in out
