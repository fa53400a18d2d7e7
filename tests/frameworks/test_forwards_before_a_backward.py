"""How often a model under DDP ran forward for one backward: branches that exclude each other are one forward."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.engine import check_paths

PROGRAM = """
import sys
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return checkpoint(self.second, self.first(x), use_reentrant=True)

dist.init_process_group("gloo")
model = DistributedDataParallel(Net())
option = "--option" in sys.argv
x = torch.randn(4, 8)
{forwards}
nn.functional.mse_loss(out, x).backward()
"""
CASES = {
    "one or the other": ("if option:\n    out = model(x)\nelse:\n    out = model(2 * x)", "fragile", ""),
    "one after the other": ("out = model(x) + model(2 * x)", "fails", ""),
    "a second one by an option": ("out = model(x)\nif option:\n    out = out + model(2 * x)", "fails", "option"),
}


@pytest.mark.parametrize("case", CASES)
def test_forwards_that_exclude_each_other_are_one(case: str, tmp_path: Path) -> None:
    forwards, certainty, condition = CASES[case]
    (tmp_path / "train.py").write_text(PROGRAM.format(forwards=forwards))
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node=2 train.py\n")
    (found,) = check_paths([str(tmp_path)], target={"torch": "2.13.0"}).findings
    assert (found.code, found.certainty) == ("GCL201", certainty)
    assert condition in str(found.condition)
