import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(torch.relu(self.linear(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=8, depth=3):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x)


model = Net()
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=20)
inputs = torch.randn(64, 8)
labels = (inputs.sum(1) > 0).long()
steps = 20
for step in range(steps):
    rows = torch.randint(0, 64, (8,))
    batch, target = inputs[rows], labels[rows]
    logits = model(batch)
    loss = nn.functional.cross_entropy(logits, target)
    loss = loss + 0.01 * logits.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
torch.save({"model": model.state_dict(), "step": steps}, "model.pt")
