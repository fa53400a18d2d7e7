import copy

import torch
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
    num_key_value_heads=2,
)  # fmt: skip
policy = LlamaForCausalLM(config)
reference = copy.deepcopy(policy).eval().requires_grad_(False)


def told(model, ids):
    logits = model(input_ids=ids).logits[:, :-1].log_softmax(-1)
    return logits.gather(-1, ids[:, 1:, None]).squeeze(-1).sum(-1)


optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
for step in range(10):
    chosen, rejected = torch.randint(3, 32, (4, 8)), torch.randint(3, 32, (4, 8))
    with torch.no_grad():
        base = told(reference, chosen) - told(reference, rejected)
    margin = told(policy, chosen) - told(policy, rejected) - base
    loss = -F.logsigmoid(0.1 * margin).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
