"""Tiny training scripts, with a defect and without."""

from __future__ import annotations

SCRIPT = """
import functools, torch, torch.nn as nn
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.drop = nn.Linear(8, 8), nn.Linear(8, 8), nn.Dropout(0.2)
    def forward(self, x):
        return x + self.drop(self.b(torch.tanh(self.a(x))))

class Wrapper(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
    def forward(self, *args):
        return checkpoint(self.layer, *args, use_reentrant=False)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Linear(8, 8), nn.Linear(8, 1)
        self.layers = nn.ModuleList(Block() for _ in range(3))
    def forward(self, x):
        hidden = self.embed(x)
        for layer in self.layers:
            hidden = {call}
        return self.head(hidden).pow(2).mean()

net = Net()
{setup}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(4, 8)
    loss = {loss}
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""

GOOD_CALL = "checkpoint(layer, hidden, use_reentrant=False)"
DDP = """
import torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
ddp = nn.parallel.DistributedDataParallel(net)
"""


def script(call: str = GOOD_CALL, setup: str = "", loss: str = "net(x)") -> str:
    """Return a training script of three steps."""
    return SCRIPT.format(call=call, setup=setup, loss=loss)
