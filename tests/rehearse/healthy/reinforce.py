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


policy = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(12):
    chances, rewards, state = [], [], torch.randn(8)
    for _ in range(5 + episode % 3):
        drawn = torch.distributions.Categorical(logits=policy(state))
        action = drawn.sample()
        chances.append(drawn.log_prob(action))
        rewards.append(float(action))
        state = state + 0.1 * torch.randn(8)
    loss = -sum(chance * reward for chance, reward in zip(chances, rewards)) - 0.01 * torch.stack(chances).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
