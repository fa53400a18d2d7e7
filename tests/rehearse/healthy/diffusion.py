import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rows(count=64, width=8, classes=3):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, width, generator=generator)
    return TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 1).long() * (classes > 2))


class Denoiser(nn.Module):
    def __init__(self, steps=20):
        super().__init__()
        self.when = nn.Embedding(steps, 16)
        self.into, self.out = nn.Linear(8, 16), nn.Linear(16, 8)
        self.register_buffer("kept", torch.cumprod(1 - torch.linspace(1e-3, 0.2, steps), 0))

    def noisy(self, x, t, noise):
        kept = self.kept[t][:, None]
        return kept.sqrt() * x + (1 - kept).sqrt() * noise

    def forward(self, x, t):
        return self.out(F.silu(self.into(x) + self.when(t)))


model = Denoiser()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=4)
for epoch in range(2):
    for x, _ in DataLoader(rows(), batch_size=8, shuffle=True):
        noise = torch.randn_like(x)
        t = torch.randint(0, len(model.kept), (len(x),))
        loss = F.mse_loss(model(model.noisy(x, t, noise), t), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()
