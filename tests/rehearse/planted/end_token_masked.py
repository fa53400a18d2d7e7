# expects: GCS406
import torch
from torch.utils.data import DataLoader
from transformers import LlamaConfig, LlamaForCausalLM

END = 2
config = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=2,
    eos_token_id=END,
    pad_token_id=END,
)
model = LlamaForCausalLM(config)
model.train()


def collate(rows):
    ids = torch.full((len(rows), 16), END)
    mask = torch.zeros_like(ids)
    for row, tokens in zip(ids, rows):
        row[: len(tokens)] = torch.tensor(tokens)
    for row, tokens in zip(mask, rows):
        row[: len(tokens)] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(ids == END, -100)}


data = [torch.randint(3, 64, (6 + index % 8,)).tolist() + [END] for index in range(32)]
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in DataLoader(data, batch_size=4, shuffle=True, collate_fn=collate):
    loss = model(**batch).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
