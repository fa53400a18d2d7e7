import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)


@torch.no_grad()
def played(length=32):
    states = torch.randn(length, 4)
    choice = Categorical(logits=actor(states))
    actions = choice.sample()
    rewards = (states[:, 0] > 0).float() * (actions == 1).float()
    return states, actions, choice.log_prob(actions), rewards


for _ in range(3):
    states, actions, before, rewards = played()
    gain = rewards - critic(states).squeeze(-1).detach()
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    for _ in range(3):
        for part in torch.randperm(len(states)).split(16):
            choice = Categorical(logits=actor(states[part]))
            ratio = (choice.log_prob(actions[part]) - before[part]).exp()
            surrogate = torch.min(ratio * gain[part], ratio.clamp(0.8, 1.2) * gain[part])
            value = critic(states[part]).squeeze(-1)
            loss = -surrogate.mean() + 0.5 * (value - rewards[part]).square().mean() - 0.01 * choice.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
            optimizer.step()
