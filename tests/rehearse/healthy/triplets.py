import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rows(count=64, width=8, classes=3):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, width, generator=generator)
    return TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 1).long() * (classes > 2))


embed = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(embed.parameters(), lr=1e-2)
x, y = rows(96).tensors
for step in range(12):
    anchor = torch.randint(0, len(x), (16,))
    alike = torch.stack([x[y == y[a]][torch.randint(0, int((y == y[a]).sum()), ())] for a in anchor])
    other = torch.stack([x[y != y[a]][torch.randint(0, int((y != y[a]).sum()), ())] for a in anchor])
    loss = F.triplet_margin_loss(embed(x[anchor]), embed(alike), embed(other), margin=0.5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
