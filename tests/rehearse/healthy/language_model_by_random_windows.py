import math

import torch
import torch.nn as nn
import torch.nn.functional as F

text = torch.randint(0, 20, (600,), generator=torch.Generator().manual_seed(3))
train, held_out = text[:500], text[500:]


class Block(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.norm, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        drop = 0.1 if self.training else 0.0
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=drop))
        return x + self.wide(self.after(x))


class Model(nn.Module):
    def __init__(self, width=16, longest=12):
        super().__init__()
        self.token, self.place = nn.Embedding(20, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 20, bias=False)
        self.head.weight = self.token.weight

    def forward(self, ids, targets=None):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return logits, None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def batch(source):
    starts = torch.randint(len(source) - 13, (8,))
    windows = torch.stack([source[s : s + 13] for s in starts])
    return windows[:, :-1], windows[:, 1:]


@torch.no_grad()
def estimate(model):
    model.eval()
    found = {name: sum(model(*batch(part))[1].item() for _ in range(3)) / 3 for name, part in
             (("train", train), ("held out", held_out))}
    model.train()
    return found


model = Model()
decayed = [p for p in model.parameters() if p.dim() > 1]
plain = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=1e-2, betas=(0.9, 0.95)
)
steps = 24
for step in range(steps):
    share = step / 4 if step < 4 else 0.1 + 0.45 * (1 + math.cos(math.pi * (step - 4) / (steps - 4)))
    for group in optimizer.param_groups:
        group["lr"] = 1e-2 * max(share, 0.05)
    if step % 8 == 0:
        print(step, estimate(model))
    for _ in range(2):
        loss = model(*batch(train))[1] / 2
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
