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


class Auto(nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.mean, self.spread, self.out = nn.Linear(8, 16), nn.Linear(16, 4), nn.Linear(16, 4), nn.Linear(4, 8)

    def forward(self, x):
        hidden = torch.relu(self.into(x))
        mean, spread = self.mean(hidden), self.spread(hidden)
        return self.out(mean + torch.randn_like(mean) * (0.5 * spread).exp()), mean, spread


model = Auto()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
valid = DataLoader(rows(16), batch_size=8)
for epoch in range(3):
    model.train()
    for x, _ in DataLoader(rows(), batch_size=8, shuffle=True):
        again, mean, spread = model(x)
        loss = F.mse_loss(again, x) - 0.001 * (1 + spread - mean**2 - spread.exp()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(sum(F.mse_loss(model(x)[0], x).item() for x, _ in valid))
