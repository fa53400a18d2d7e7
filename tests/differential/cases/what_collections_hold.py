import sys
from collections import deque

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]

held = ["p", "q", "r"]
if a == "x":
    held.insert(0, "new")
elif a == "y":
    held.pop(1)
else:
    del held[0]
checkpoint(block, 1, use_reentrant=held[0])
checkpoint(block, 1, use_reentrant=held[1])
checkpoint(block, 1, use_reentrant=len(held))
checkpoint(block, 1, use_reentrant="q" in held)
plain = ["p", "q", "r"]
for part in plain[1:]:
    checkpoint(block, 1, use_reentrant=part)
for place, part in enumerate(reversed(plain)):
    checkpoint(block, 1, use_reentrant=part if place else "first")
for number, part in zip(range(1, 9, 3), plain):
    checkpoint(block, 1, use_reentrant=number)
table = {"k": 1, "m": 2}
if b == "on":
    table["n"] = 3
else:
    table.pop("k")
checkpoint(block, 1, use_reentrant=len(table))
checkpoint(block, 1, use_reentrant=table.setdefault("k", "default"))
checkpoint(block, 1, use_reentrant=table.pop("n", "gone"))
for key, value in table.items():
    checkpoint(block, 1, use_reentrant=key)
    checkpoint(block, 1, use_reentrant=value)
checkpoint(block, 1, use_reentrant=[v for v in table.values() if v != 2][0])
checkpoint(block, 1, use_reentrant={k: v for k, v in table.items() if k == "m"}.get("k", "filtered"))
checkpoint(block, 1, use_reentrant=any(k == "k" and b == "on" for k in table))
checkpoint(block, 1, use_reentrant=all([part != "q" for part in held]))
first, *middle, last = plain + ["end"]
checkpoint(block, 1, use_reentrant=first)
checkpoint(block, 1, use_reentrant=last)
checkpoint(block, 1, use_reentrant=sum([1, 2, 3]) if len(plain[:2]) == 2 else "never")
checkpoint(block, 1, use_reentrant=max(len(held), 3))
checkpoint(block, 1, use_reentrant=0 < len(held) < 3)
table.clear()
checkpoint(block, 1, use_reentrant="empty" if not table else "full")
queue = deque(["p", "q", "r"])
checkpoint(block, 1, use_reentrant=queue.popleft())
checkpoint(block, 1, use_reentrant=queue.pop())
checkpoint(block, 1, use_reentrant=len(queue))
pair = ("p",)
pair += ("q",)
other = plain
other += [a == "y"]
checkpoint(block, 1, use_reentrant=pair[1])
checkpoint(block, 1, use_reentrant=plain[3])
merged = {"k": 1} | {"k": 2, "m": 3}
merged |= {"n": a != "z"}
checkpoint(block, 1, use_reentrant=merged["k"])
checkpoint(block, 1, use_reentrant=merged["n"])
checkpoint(block, 1, use_reentrant=list(merged.keys())[2])
checkpoint(block, 1, use_reentrant=dict(merged, k="over")["k"])
checkpoint(block, 1, use_reentrant={**merged, **({"k": "spread"} if b == "on" else {})}["k"])
