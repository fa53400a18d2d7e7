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


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--checkpoint", default="")
    parser.add_argument("--no-save", action="store_true")
    return parser.parse_args()


def one_epoch(model, loader, optimizer, given):
    model.train()
    optimizer.zero_grad()
    for number, (x, y) in enumerate(loader, 1):
        loss = F.cross_entropy(model(x), y) / given.accumulate
        loss.backward()
        if number % given.accumulate == 0 or number == len(loader):
            if given.clip > 0:
                nn.utils.clip_grad_norm_(model.parameters(), given.clip)
            optimizer.step()
            optimizer.zero_grad()


@torch.inference_mode()
def evaluate(model, loader):
    model.eval()
    found = [(F.cross_entropy(model(x), y, reduction="sum").item(), len(x)) for x, y in loader]
    return sum(loss for loss, _ in found) / sum(count for _, count in found)


def main():
    given = options()
    torch.manual_seed(0)
    model = Net(drop=0.2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    if given.checkpoint:
        model.load_state_dict(torch.load(given.checkpoint, weights_only=True))
    train = DataLoader(rows(), batch_size=8, shuffle=True, num_workers=2)
    held_out = DataLoader(rows(40), batch_size=16)
    for epoch in range(given.epochs):
        one_epoch(model, train, optimizer, given)
        print(epoch, evaluate(model, held_out))
        if not given.no_save:
            torch.save(model.state_dict(), f"model-{epoch}.pt")


if __name__ == "__main__":
    main()
