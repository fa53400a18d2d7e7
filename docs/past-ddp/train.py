"""A training on two processes that goes past DDP: torchrun --nproc_per_node=2 train.py"""

import torch
import torch.nn.functional as F
from torch.distributed import destroy_process_group, get_rank, init_process_group
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    """A body with dropout, and a head of four classes."""

    def __init__(self):
        """Build the layers."""
        super().__init__()
        dropout = torch.nn.Dropout(0.1)
        self.body = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), dropout, torch.nn.Linear(32, 32))
        self.head = torch.nn.Linear(32, 4)

    def forward(self, x):
        """Return the logits of `x`, a batch of 16 numbers each."""
        return self.head(self.body(x))


if __name__ == "__main__":
    init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(Net())
    torch.manual_seed(get_rank())
    inputs = torch.randn(96, 16)
    labels = inputs[:, :4].argmax(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in range(12):
        x, y = inputs[8 * step : 8 * step + 8], labels[8 * step : 8 * step + 8]
        optimizer.zero_grad()
        # the forward goes to the model inside: what DDP averages in backward, it never hears of
        F.cross_entropy(model.module(x), y).backward()
        optimizer.step()
    destroy_process_group()
