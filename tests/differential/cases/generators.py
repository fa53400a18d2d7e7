import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]


def inner():
    yield "inner"
    if b == "on":
        yield "on"


def outer():
    if a == "x":
        yield from ["p", "q"]
    elif a == "y":
        yield from inner()
    else:
        return
    yield "end"


for value in outer():
    checkpoint(block, 1, use_reentrant=value)
for value in outer():
    if value == "q" or (value == "inner" and b == "off"):
        break
    checkpoint(block, 1, use_reentrant=value)
else:
    checkpoint(block, 1, use_reentrant="all of them")
checkpoint(block, 1, use_reentrant=[*outer()][-1] if a == "x" else "other")
if a == "x":
    kept = list(outer())
    checkpoint(block, 1, use_reentrant=kept[0])
    checkpoint(block, 1, use_reentrant=len(kept))
