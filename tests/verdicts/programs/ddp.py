
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = self.drop(x)
        return self.head(x)


model = Net()
model.train()
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
torch.manual_seed(100 + rank)
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
    optimizer.step()
if rank == 0:
    torch.save({"model": model.module.state_dict(), "step": steps}, "model.pt")
dist.barrier()
dist.destroy_process_group()
