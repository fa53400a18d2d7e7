import torch
from torch.utils.data import DataLoader
from transformers import AutoModel


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = AutoModel.from_pretrained("bert-base-uncased")
        self.head = torch.nn.Linear(self.bert.config.hidden_size, 2)

    def forward(self, input_ids):
        return self.head(self.bert(input_ids).last_hidden_state[:, 0])


model = Classifier()
model.train()
data = [(torch.randint(5, 100, (12,)), index % 2) for index in range(32)]
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for epoch in range(2):
    for ids, y in DataLoader(data, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(ids), y).backward()
        optimizer.step()
