"""Comparisons of releases are decided by the versions that the run is judged for."""

from __future__ import annotations

import pytest

from gclint import check_source

PROGRAM = """
import importlib.metadata
import torch, transformers
from accelerate.utils import is_torch_version
from transformers.utils import is_torch_greater_or_equal, is_torch_less_or_equal
from packaging import version
from packaging.version import Version
from torch.utils.checkpoint import checkpoint

def run(block, x):
    if {condition}:
        return checkpoint(block, x)
    return block(x)
"""


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('Version(transformers.__version__) < Version("5.0.0")', False),
        ('version.parse(transformers.__version__) >= version.parse("5.0.0")', True),
        ('Version("5.0") <= Version(transformers.__version__)', True),
        ('torch.__version__ >= "2.4"', True),
        ('torch.__version__ < "2.4"', False),
        ('"2.4" <= torch.__version__', True),
        ("Version(name) < Version(other)", True),
        ('Version(importlib.metadata.version("torch")) >= Version("2.4")', True),
        ('Version(importlib.metadata.version("torch")) < Version("2.4")', False),
        ('is_torch_version(">=", "2.3")', True),
        ('is_torch_version("<", "2.3")', False),
        ('is_torch_version("<", wanted)', True),
        ('is_torch_greater_or_equal("2.3")', True),
        ('is_torch_less_or_equal("2.3")', False),
    ],
)
def test_a_branch_for_other_releases_is_not_walked(condition: str, holds: bool) -> None:
    text = PROGRAM.format(condition=condition)
    report = check_source(text, target={"transformers": "5.23.0", "torch": "2.13.0"})
    assert [finding.code for finding in report.findings] == (["GCL501"] if holds else [])


@pytest.mark.parametrize(("release", "called"), [("2.0.1", ""), ("2.1.2", "checkpoint"), ("2.2.2", "both")])
def test_checkpoint_warns_since_another_release_than_its_sequence(release: str, called: str) -> None:
    """torch 2.1 asks the caller of `checkpoint` for use_reentrant, 2.2 that of `checkpoint_sequential` as well."""
    text = (
        "import torch\nfrom torch.utils.checkpoint import checkpoint, checkpoint_sequential\n\n"
        "block, blocks = torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))\n"
        "x = torch.ones(1, 2, requires_grad=True)\n"
        "checkpoint(block, x).sum().backward()\n"
        "checkpoint_sequential(blocks, 2, x).sum().backward()\n"
    )
    found = check_source(text, target={"torch": release}).findings
    lines = [finding.location.line for finding in found if finding.code == "GCL501"]
    assert lines == {"": [], "checkpoint": [6], "both": [6, 7]}[called]


SIX = """import argparse

import torch
{six}
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
saved = torch.load("last.pt")
model.load_state_dict(saved["model"], strict=False)
torch.save({{"model": model.state_dict(), "args": args}}, "last.pt")
model(torch.ones(1)).sum().backward()
"""


@pytest.mark.parametrize(
    ("six", "codes"),
    [
        ("from torch._six import inf", ["GCL906", "GCL306"]),
        ("try:\n    from torch._six import inf\nexcept ImportError:\n    pass", ["GCL307", "GCL306"]),
        ("from torch import inf", ["GCL307", "GCL306"]),
    ],
)
def test_what_needs_a_release_that_cannot_import_the_program_is_not_told(six: str, codes: list[str]) -> None:
    """torch 2.0 has no `torch._six`: nobody meets there what fails since 2.6."""
    assert [finding.code for finding in check_source(SIX.format(six=six)).findings] == codes
