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


actor, critic, target = nn.Linear(8, 3), nn.Linear(8, 1), nn.Linear(8, 1)
target.load_state_dict(critic.state_dict())
actors, critics = torch.optim.Adam(actor.parameters(), lr=1e-2), torch.optim.Adam(critic.parameters(), lr=1e-2)
replay = []
state = torch.randn(8)
for step in range(40):
    with torch.no_grad():
        action = torch.distributions.Categorical(logits=actor(state)).sample()
    following, reward = state + 0.1 * torch.randn(8), float(action == 1)
    replay.append((state, action, reward, following))
    state = following
    if len(replay) < 8:
        continue
    chosen = [replay[int(index)] for index in torch.randint(len(replay), (8,))]
    states, actions, rewards, after = (torch.stack([torch.as_tensor(each) for each in column]) for column in zip(*chosen))
    with torch.no_grad():
        wanted = rewards + 0.9 * target(after).squeeze(1)
    values = critic(states).squeeze(1)
    critics.zero_grad()
    F.mse_loss(values, wanted).backward()
    critics.step()
    advantage = (wanted - values).detach()
    chances = torch.distributions.Categorical(logits=actor(states))
    actors.zero_grad()
    (-(chances.log_prob(actions) * advantage).mean() - 0.01 * chances.entropy().mean()).backward()
    actors.step()
    with torch.no_grad():
        for mine, theirs in zip(target.parameters(), critic.parameters()):
            mine.lerp_(theirs, 0.05)
