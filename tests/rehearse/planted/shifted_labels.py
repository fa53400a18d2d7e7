# expects: GCS408
import torch
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
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(6):
    tokens = torch.randint(3, 64, (4, 17))
    loss = model(input_ids=tokens[:, :-1], labels=tokens[:, 1:]).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
