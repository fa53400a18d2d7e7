import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rows(count=64, width=8, classes=3):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, width, generator=generator)
    return TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 1).long() * (classes > 2))


from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
averaged = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
schedule = SWALR(optimizer, swa_lr=0.05, anneal_epochs=1)
loader = DataLoader(rows(), batch_size=8, shuffle=True)
for epoch in range(4):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    if epoch > 1:
        averaged.update_parameters(model)
        schedule.step()
update_bn(loader, averaged)
averaged.eval()
with torch.no_grad():
    print(sum(int((averaged(x).argmax(1) == y).sum()) for x, y in DataLoader(rows(40), batch_size=8)))
