import torch
import torch.nn as nn
import torch.nn.functional as F

text = torch.randint(0, 16, (4, 97), generator=torch.Generator().manual_seed(5))


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.step, self.head = nn.Embedding(16, 12), nn.LSTM(12, 12, batch_first=True), nn.Linear(12, 16)

    def forward(self, ids, state):
        out, state = self.step(self.embed(ids), state)
        return self.head(out), state


model = Writer()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(2):
    state = None
    for start in range(0, 96, 8):
        ids, after = text[:, start : start + 8], text[:, start + 1 : start + 9]
        if state is not None:
            state = tuple(each.detach() for each in state)
        logits, state = model(ids, state)
        optimizer.zero_grad()
        F.cross_entropy(logits.flatten(0, 1), after.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
