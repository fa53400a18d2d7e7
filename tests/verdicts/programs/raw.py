import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.second = nn.Linear(width, width)
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = self.drop(x)
        x = torch.relu(self.second(x))
        return self.head(x)


model = Net()
model.train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
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
torch.save({"model": model.state_dict(), "step": steps}, "model.pt")
