import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, width=8, depth=2):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(depth))
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x)


model = Net()
model.train()
model = DistributedDataParallel(model, gradient_as_bucket_view=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
torch.manual_seed(100 + rank)
inputs = torch.randn(64, 8)
labels = (inputs.sum(1) > 0).long()
steps = 16
accumulate = 2
for step in range(steps):
    optimizer.zero_grad()
    for part in range(accumulate):
        rows = torch.randint(0, 64, (8,))
        batch, target = inputs[rows], labels[rows]
        logits = model(batch)
        loss = nn.functional.cross_entropy(logits, target) / accumulate
        loss = loss + 0.01 * logits.pow(2).mean()
        loss.backward()
    optimizer.step()
dist.barrier()
dist.destroy_process_group()
