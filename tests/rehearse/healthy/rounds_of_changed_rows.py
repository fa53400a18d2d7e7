import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, count):
        self.x = torch.randn(count, 8)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index] + 0.1 * torch.randn(8), int(self.x[index].sum() > 0)


model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.LayerNorm(16), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader, rounds = DataLoader(Rows(64), batch_size=4, shuffle=True, drop_last=True), 4
for epoch in range(3):
    for index, (x, y) in enumerate(loader):
        (F.cross_entropy(model(x), y) / rounds).backward()
        if (index + 1) % rounds == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
