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
from torch.utils.data.distributed import DistributedSampler


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    found = torch.zeros(2)
    for x, y in loader:
        found += torch.tensor([float((model(x).argmax(1) == y).sum()), float(len(y))])
    dist.all_reduce(found)
    model.train()
    return float(found[0] / found[1])


dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(Net(drop=0.1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
data, held_out = rows(), rows(40)
sampler = DistributedSampler(data, shuffle=True)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in DataLoader(data, batch_size=4, sampler=sampler):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    score = evaluate(model, DataLoader(held_out, batch_size=4, sampler=DistributedSampler(held_out, shuffle=False)))
    if dist.get_rank() == 0:
        print(epoch, score)
dist.destroy_process_group()
