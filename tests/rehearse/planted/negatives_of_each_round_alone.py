# expects: GCS214
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


rows = TensorDataset(torch.randn(64, 8), torch.randn(64, 8))
left, right = nn.Linear(8, 4), nn.Linear(8, 4)
optimizer = torch.optim.SGD([*left.parameters(), *right.parameters()], lr=0.1)
rounds = 4
for epoch in range(2):
    for index, (x, y) in enumerate(DataLoader(rows, batch_size=4, shuffle=True)):
        likeness = F.normalize(left(x), dim=1) @ F.normalize(right(y), dim=1).t() / 0.1
        loss = F.cross_entropy(likeness, torch.arange(len(x))) / rounds
        loss.backward()
        if (index + 1) % rounds == 0:
            optimizer.step()
            optimizer.zero_grad()
