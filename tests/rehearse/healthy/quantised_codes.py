import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rows(count=64, width=8, classes=3):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, width, generator=generator)
    return TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 1).long() * (classes > 2))


class Codes(nn.Module):
    def __init__(self, count=8, width=4):
        super().__init__()
        self.into, self.out = nn.Linear(8, width), nn.Linear(width, 8)
        self.register_buffer("codes", torch.randn(count, width))
        self.register_buffer("uses", torch.ones(count))

    def forward(self, x):
        z = self.into(x)
        chosen = torch.cdist(z, self.codes).argmin(1)
        if self.training:
            with torch.no_grad():
                one_hot = F.one_hot(chosen, len(self.codes)).float()
                self.uses.mul_(0.9).add_(one_hot.sum(0), alpha=0.1)
                self.codes.mul_(0.9).add_(one_hot.t() @ z / one_hot.sum(0).clamp(min=1)[:, None], alpha=0.1)
        q = self.codes[chosen]
        return self.out(z + (q - z).detach()), F.mse_loss(z, q.detach())


@torch.no_grad()
def error(model, loader):
    model.eval()
    total = sum(F.mse_loss(model(x)[0], x, reduction="sum").item() for x, _ in loader)
    model.train()
    return total / len(loader.dataset)


model = Codes()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for x, _ in DataLoader(rows(), batch_size=8, shuffle=True):
        seen, commitment = model(x)
        loss = F.mse_loss(seen, x) + 0.25 * commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(error(model, DataLoader(rows(40), batch_size=8)))
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "codes.pt")
