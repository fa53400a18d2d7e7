import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rows(count=64, width=8, classes=3):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, width, generator=generator)
    return TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 1).long() * (classes > 2))


encoder = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16))
projection = nn.Linear(16, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *projection.parameters()], lr=0.05, momentum=0.9)


def view(x):
    return x * (torch.rand_like(x) > 0.1) + 0.05 * torch.randn_like(x)


for epoch in range(2):
    for x, _ in DataLoader(rows(), batch_size=16, shuffle=True, drop_last=True):
        z = F.normalize(projection(encoder(torch.cat([view(x), view(x)]))), dim=1)
        likeness = z @ z.t() / 0.5
        likeness.fill_diagonal_(-1e4)
        partner = torch.arange(2 * len(x)).roll(len(x))
        optimizer.zero_grad()
        F.cross_entropy(likeness, partner).backward()
        optimizer.step()
