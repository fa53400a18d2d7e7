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


from torch.utils.data import Subset

data, folds = rows(60), 3
order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0)).tolist()


def trained(part):
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for epoch in range(2):
        for x, y in DataLoader(part, batch_size=8, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    return model


@torch.no_grad()
def scored(model, part):
    model.eval()
    return sum(int((model(x).argmax(1) == y).sum()) for x, y in DataLoader(part, batch_size=8)) / len(part)


scores = []
for fold in range(folds):
    held = [index for at, index in enumerate(order) if at % folds == fold]
    rest = [index for at, index in enumerate(order) if at % folds != fold]
    scores.append(scored(trained(Subset(data, rest)), Subset(data, held)))
print(sum(scores) / folds)
