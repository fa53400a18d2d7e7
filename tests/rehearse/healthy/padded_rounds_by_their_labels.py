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


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, ids):
        return self.head(self.embed(ids))


def sentences(count=32, longest=12):
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(1, 30, (count, longest), generator=generator)
    labels = ids % 5
    for row in range(count):
        length = 2 if row % 4 < 2 else longest
        ids[row, length:], labels[row, length:] = 0, -100
    return TensorDataset(ids, labels)


model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader = DataLoader(sentences(), batch_size=2)
for epoch in range(2):
    batches = list(loader)
    for first in range(0, len(batches), 4):
        counted = sum(int((labels != -100).sum()) for _, labels in batches[first : first + 4])
        for ids, labels in batches[first : first + 4]:
            total = F.cross_entropy(model(ids).transpose(1, 2), labels, reduction="sum")
            (total / counted).backward()
        optimizer.step()
        optimizer.zero_grad()
