import torch
import torch.nn as nn
import torch.nn.functional as F


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.people = nn.Embedding(50, 8, sparse=True)
        self.things = nn.Embedding(80, 8, sparse=True)
        self.score = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, person, thing):
        return self.score(torch.cat([self.people(person), self.things(thing)], -1)).squeeze(-1)


model = Recommender()
sparse = torch.optim.SparseAdam([*model.people.parameters(), *model.things.parameters()], lr=1e-2)
dense = torch.optim.AdamW(model.score.parameters(), lr=1e-2)
for step in range(16):
    person, thing = torch.randint(0, 50, (16,)), torch.randint(0, 80, (16,))
    liked = ((person + thing) % 3 == 0).float()
    loss = F.binary_cross_entropy_with_logits(model(person, thing), liked)
    for optimizer in (sparse, dense):
        optimizer.zero_grad()
    loss.backward()
    for optimizer in (sparse, dense):
        optimizer.step()
