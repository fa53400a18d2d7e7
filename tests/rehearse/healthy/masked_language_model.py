import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForMaskedLM

config = BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
    max_position_embeddings=16,
)  # fmt: skip
model = BertForMaskedLM(config)
sentences = [torch.randint(5, 40, (10,)) for _ in range(32)]


def hidden(batch):
    ids = torch.stack(batch)
    labels = ids.clone()
    asked = torch.rand(ids.shape) < 0.3
    asked[:, 0] = True
    labels[~asked] = -100
    ids[asked] = 4
    return {"input_ids": ids, "labels": labels, "attention_mask": torch.ones_like(ids)}


optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.train()
for epoch in range(2):
    for batch in DataLoader(sentences, batch_size=4, shuffle=True, collate_fn=hidden):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
