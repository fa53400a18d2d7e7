# expects: GCS306
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


class Accuracy:
    def __init__(self):
        self.right = self.all = 0

    def add(self, logits, labels):
        self.right += int((logits.argmax(-1) == labels).sum())
        self.all += len(labels)

    def value(self):
        return self.right / self.all


accuracy = Accuracy()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    for x, y in loader:
        accuracy.add(model(x), y)
    model.train()
    return accuracy.value()


def train():
    model = Net(drop=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    held_out = DataLoader(rows(40), batch_size=8)
    for epoch in range(3):
        for x, y in DataLoader(rows(), batch_size=8, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            accuracy.add(model(x), y)
        print(epoch, validate(model, held_out))


train()
