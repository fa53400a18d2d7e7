# expects: GCS215; ranks: 2
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rows(count=64, longest=12):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, longest, 8, generator=generator)
    y = (x[..., 0] > 0).long()
    for row, length in enumerate(torch.randint(1, longest + 1, (count,), generator=generator).tolist()):
        y[row, length:] = -100
    return TensorDataset(x, y)


import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
data = rows()
sampler = torch.utils.data.DistributedSampler(data)
loader = DataLoader(data, batch_size=2, sampler=sampler)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).transpose(1, 2), y)
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
