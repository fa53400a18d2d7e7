import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rows(count=64, width=8, classes=3):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, width, generator=generator)
    return TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 1).long() * (classes > 2))


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(8, 16)
        self.mean, self.spread = nn.Linear(16, 2), nn.Linear(16, 2)
        self.decode = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, x):
        h = self.encode(x).relu()
        mean, log_variance = self.mean(h), self.spread(h)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decode(z), mean, log_variance


model = Vae()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for x, _ in DataLoader(rows(), batch_size=8, shuffle=True):
        seen, mean, log_variance = model(x)
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1).mean()
        loss = F.mse_loss(seen, x, reduction="sum") / len(x) + 0.1 * divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
