# expects: GCS913
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


import argparse

from accelerate import Accelerator

parser = argparse.ArgumentParser()
parser.add_argument("--resume_from_checkpoint", type=str, default=None)
options = parser.parse_args()
accelerator = Accelerator()
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader = DataLoader(rows(), batch_size=8, shuffle=True)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
start = 0
if options.resume_from_checkpoint:
    accelerator.load_state(options.resume_from_checkpoint)
    start = int(options.resume_from_checkpoint.rpartition("_")[2]) + 1
for epoch in range(start, 2):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        accelerator.backward(F.cross_entropy(model(x), y))
        optimizer.step()
        scheduler.step()
    accelerator.save_state(f"epoch_{epoch}")
