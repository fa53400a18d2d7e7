# expects: GCS405
import torch
from torch.utils.data import DataLoader
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=2,
)
model = LlamaForCausalLM(config)
model.train()
data = [{"input_ids": torch.randint(3, 64, (16,)), "labels": torch.full((16,), -100)} for _ in range(32)]
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in DataLoader(data, batch_size=4, shuffle=True):
    loss = model(**batch).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
