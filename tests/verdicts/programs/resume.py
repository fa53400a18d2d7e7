import torch
from torch import nn

torch.manual_seed(0)


def build():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2))
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return model, optimizer


inputs = torch.randn(64, 8)
labels = (inputs.sum(1) > 0).long()


def train(model, optimizer, steps):
    for step in range(steps):
        rows = torch.randint(0, 64, (8,))
        batch, target = inputs[rows], labels[rows]
        logits = model(batch)
        loss = nn.functional.cross_entropy(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


model, optimizer = build()
train(model, optimizer, 8)
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "model.pt")
model, optimizer = build()
state = torch.load("model.pt")
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
train(model, optimizer, 8)
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "model.pt")
