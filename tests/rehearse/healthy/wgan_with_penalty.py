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


generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
first = torch.optim.RMSprop(generator.parameters(), lr=1e-3)
second = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
for index, (x, _) in enumerate(DataLoader(rows(160), batch_size=8, shuffle=True)):
    with torch.no_grad():
        fake = generator(torch.randn(len(x), 4))
    mix = torch.rand(len(x), 1)
    between = (mix * x + (1 - mix) * fake).requires_grad_(True)
    slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
    loss = critic(fake).mean() - critic(x).mean() + 10 * ((slope.norm(dim=1) - 1) ** 2).mean()
    second.zero_grad()
    loss.backward()
    second.step()
    if index % 3 == 2:
        loss = -critic(generator(torch.randn(len(x), 4))).mean()
        first.zero_grad()
        loss.backward()
        first.step()
