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
