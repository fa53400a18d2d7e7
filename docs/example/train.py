"""A small training on two processes: torchrun --nproc_per_node=2 train.py"""

import torch
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Net(torch.nn.Module):
    """Four linear layers, checkpointed, behind one that is not."""

    def __init__(self):
        """Build the layers."""
        super().__init__()
        self.inner = torch.nn.Linear(64, 64)
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(4))

    def forward(self, x):
        """Return what the layers make of `x`, a batch of 64 numbers each."""
        x = self.inner(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        return x


if __name__ == "__main__":
    init_process_group("gloo")
    model = DistributedDataParallel(Net(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 64)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    destroy_process_group()
