"""What pytest collects runs in one process, what a launcher starts does not."""

from __future__ import annotations

import pytest

from gclint.check.engine import check_paths

TEST = """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from accelerate import Accelerator


def test_trains():
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    torch.save(model.state_dict(), "trained.pt")
"""


@pytest.mark.parametrize(("name", "told"), [("test_training.py", []), ("train_check.py", ["GCL230"])])
def test_a_file_that_pytest_collects_is_no_one_of_several_processes(tmp_path, name, told):
    (tmp_path / name).write_text(TEST if told == [] else TEST + "\n\ntest_trains()\n")
    (tmp_path / "run.sh").write_text(f"torchrun --nproc_per_node 2 {name}\n" if told else "pytest\n")
    assert [each.code for each in check_paths(tmp_path).findings] == told
