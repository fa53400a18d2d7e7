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


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, z):
        return self.net(z)


generator, critic = Generator(), nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
first = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
second = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
fixed = torch.randn(8, 4)
for epoch in range(3):
    for x, _ in DataLoader(rows(), batch_size=8, shuffle=True):
        critic.zero_grad()
        real = criterion(critic(x).squeeze(1), torch.ones(len(x)))
        real.backward()
        fake = generator(torch.randn(len(x), 4))
        lying = criterion(critic(fake.detach()).squeeze(1), torch.zeros(len(x)))
        lying.backward()
        second.step()
        generator.zero_grad()
        loss = criterion(critic(fake).squeeze(1), torch.ones(len(x)))
        loss.backward()
        first.step()
    with torch.no_grad():
        generator(fixed)
