# expects: GCS307
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


import copy


def averaged_into(average, model, share):
    for old, new in zip(average.parameters(), model.parameters()):
        old.data.mul_(share).add_(new.data, alpha=1 - share)


@torch.no_grad()
def evaluate(model, average, loader):
    model.load_state_dict(average.state_dict())
    model.eval()
    losses = [F.cross_entropy(model(x), y) for x, y in loader]
    model.train()
    return torch.stack(losses).mean()


def main():
    model = Net(drop=0.1)
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    held_out = DataLoader(rows(40), batch_size=8)
    for epoch in range(3):
        for x, y in DataLoader(rows(), batch_size=8, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            averaged_into(average, model, 0.9)
        print(epoch, float(evaluate(model, average, held_out)))


main()
