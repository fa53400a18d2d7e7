import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
model.train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu")
inputs = torch.randn(64, 8)
labels = (inputs.sum(1) > 0).long()
steps = 18
for step in range(steps):
    rows = torch.randint(0, 64, (8,))
    batch, target = inputs[rows], labels[rows]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(batch)
        loss = nn.functional.cross_entropy(logits, target)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
torch.save({"model": model.state_dict(), "scaler": scaler.state_dict()}, "model.pt")
