import torch
import torch.nn as nn
import torch.nn.functional as F

generator = torch.Generator().manual_seed(6)
features = torch.randn(40, 8, generator=generator)
edges = torch.randint(0, 40, (2, 160), generator=generator)
labels = (features[:, 0] > 0).long()
known = torch.arange(40) < 24


class Passing(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.own, self.others = nn.Linear(width, out), nn.Linear(width, out, bias=False)

    def forward(self, x, edges):
        source, target = edges
        count = torch.zeros(len(x)).index_add(0, target, torch.ones(len(target))).clamp(min=1)
        gathered = torch.zeros_like(x).index_add(0, target, x[source]) / count[:, None]
        return self.own(x) + self.others(gathered)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Passing(8, 16), Passing(16, 2)

    def forward(self, x, edges):
        return self.second(F.dropout(self.first(x, edges).relu(), 0.3, self.training), edges)


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(12):
    model.train()
    optimizer.zero_grad()
    F.cross_entropy(model(features, edges)[known], labels[known]).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(features, edges).argmax(1) == labels)[~known].float().mean()
