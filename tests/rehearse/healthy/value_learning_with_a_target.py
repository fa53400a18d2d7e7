import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
online = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(online).requires_grad_(False)
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
memory = deque(maxlen=200)
state = torch.randn(4)
for step in range(60):
    with torch.no_grad():
        action = random.randrange(2) if random.random() < 0.2 else int(online(state).argmax())
    after, reward = torch.randn(4), float(state[0] > 0) * action
    memory.append((state, action, reward, after))
    state = after
    if len(memory) < 32:
        continue
    states, actions, rewards, following = zip(*random.sample(list(memory), 16))
    with torch.no_grad():
        aim = torch.tensor(rewards) + 0.9 * target(torch.stack(following)).max(1).values
    value = online(torch.stack(states)).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
    loss = F.smooth_l1_loss(value, aim)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        target.load_state_dict(online.state_dict())
