"""What a walk built up is gone when it ends, although it refers to itself in circles: nothing waits to be collected."""

from __future__ import annotations

import gc
from pathlib import Path

from gclint.check.program import analyse
from gclint.run.values import Object
from gclint.source.source import read

PROGRAM = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

class Circle:
    def __init__(self):
        self.itself = self


circle = Circle()
net = Net()
kept = {name: part for name, part in torch.load("a.pt").items() if name in net.state_dict()}
net.layer.requires_grad_(False)
net(torch.ones(8)).sum().backward()
"""


def test_no_object_is_left_after_a_walk(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    gc.collect()
    before = {id(each) for each in gc.get_objects() if isinstance(each, Object)}
    gc.disable()
    try:
        analyse([read(path, str(path), "python")], tmp_path, {"torch": "2.13"}, [])
        left = [each for each in gc.get_objects() if isinstance(each, Object) and id(each) not in before]
    finally:
        gc.enable()
    assert left == []
