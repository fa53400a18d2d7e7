import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2))
model.train()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
inputs = torch.randn(128, 8)
labels = (inputs.sum(1) > 0).long()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, labels), batch_size=4, shuffle=True)
accumulate = 4
optimizer.zero_grad()
for number, (batch, target) in enumerate(loader):
    step = number // accumulate
    logits = model(batch)
    loss = nn.functional.cross_entropy(logits, target)
    loss = loss / accumulate
    loss.backward()
    if (number + 1) % accumulate == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
torch.save(model.state_dict(), "model.pt")
