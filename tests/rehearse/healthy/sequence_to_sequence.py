import torch
from torch.utils.data import DataLoader
from transformers import T5Config, T5ForConditionalGeneration

config = T5Config(
    vocab_size=32, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=0, dropout_rate=0.1
)
model = T5ForConditionalGeneration(config)


def pair(number):
    generator = torch.Generator().manual_seed(number)
    ids = torch.randint(3, 32, (8,), generator=generator)
    length = int(torch.randint(4, 8, (), generator=generator))
    labels = torch.full((8,), -100)
    labels[:length] = ids[:length].flip(0)
    labels[length - 1] = 1
    return {"input_ids": ids, "attention_mask": torch.ones(8, dtype=torch.long), "labels": labels}


optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=16)
model.train()
for epoch in range(2):
    for batch in DataLoader([pair(n) for n in range(32)], batch_size=4, shuffle=True):
        model(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
