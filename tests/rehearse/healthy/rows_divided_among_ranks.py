# ranks: 2
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rows(count=64, width=8, classes=3):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, width, generator=generator)
    return TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 1).long() * (classes > 2))


class Net(nn.Module):
    def __init__(self, classes=3, drop=0.0):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(drop), nn.Linear(16, 16), nn.ReLU())
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.body(x))


import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Stream(torch.utils.data.IterableDataset):
    def __init__(self, data, rank, ranks):
        self.data, self.rank, self.ranks = data, rank, ranks

    def __iter__(self):
        for index in range(self.rank, len(self.data), self.ranks):
            yield self.data[index]


dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loader = DataLoader(Stream(rows(), dist.get_rank(), dist.get_world_size()), batch_size=4)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")
    dist.barrier()
dist.destroy_process_group()
