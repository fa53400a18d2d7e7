import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

generator = torch.Generator().manual_seed(4)
data = [torch.randint(1, 20, (int(torch.randint(3, 10, (), generator=generator)),), generator=generator) for _ in range(48)]


def together(batch):
    lengths = torch.tensor([len(each) for each in batch])
    return pad_sequence(batch, batch_first=True), lengths, torch.tensor([int(each[0]) % 3 for each in batch])


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        self.read = nn.GRU(8, 16, batch_first=True, bidirectional=True)
        self.head = nn.Linear(32, 3)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        _, last = self.read(packed)
        return self.head(torch.cat([last[0], last[1]], -1))


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for ids, lengths, y in DataLoader(data, batch_size=8, shuffle=True, collate_fn=together):
        optimizer.zero_grad()
        F.cross_entropy(model(ids, lengths), y).backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
