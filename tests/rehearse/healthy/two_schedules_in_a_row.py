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


from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
loader = DataLoader(rows(), batch_size=8, shuffle=True)
epochs, warm = 3, 6
total = epochs * len(loader)
parts = [LinearLR(optimizer, 0.1, total_iters=warm), CosineAnnealingLR(optimizer, total - warm, eta_min=1e-3)]
schedule = SequentialLR(optimizer, parts, [warm])
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y, label_smoothing=0.1).backward()
        optimizer.step()
        schedule.step()
