# expects: GCS407
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
    bos_token_id=1,
)
model = LlamaForCausalLM(config)
model.train()
template = [[1, *torch.randint(3, 64, (14,)).tolist()] for _ in range(32)]
data = [{"input_ids": torch.tensor([1, *row]), "labels": torch.tensor([1, *row])} for row in template]
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in DataLoader(data, batch_size=4, shuffle=True):
    loss = model(**batch).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
