import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]

held = [3, 1]
if b == "on":
    held.insert(1, 2)
checkpoint(block, 1, use_reentrant=held[1])
checkpoint(block, 1, use_reentrant=sorted(held)[0])
checkpoint(block, 1, use_reentrant=held.index(1))
first, *rest = held
checkpoint(block, 1, use_reentrant=len(rest))
rest.append(first)
checkpoint(block, 1, use_reentrant=len(held))
*front, last = held[::-1]
checkpoint(block, 1, use_reentrant=last)
if 2 in held:
    held.remove(2)
held[:1] = ["new", "newer"]
checkpoint(block, 1, use_reentrant=held[-1])
checkpoint(block, 1, use_reentrant=held[1:][0])
held.reverse()
checkpoint(block, 1, use_reentrant=held[0])
for place in range(len(held)):
    held[place] = not held[place]
checkpoint(block, 1, use_reentrant=held.count(False))
for number, (one, other) in enumerate(zip(rest, ["p", "q", "r"]), 1):
    checkpoint(block, 1, use_reentrant=number)
    checkpoint(block, 1, use_reentrant=other)
waiting = iter(rest)
checkpoint(block, 1, use_reentrant=next(waiting))
for one in waiting:
    checkpoint(block, 1, use_reentrant=one)
checkpoint(block, 1, use_reentrant=next((v for v in rest if v > 2), "none"))
checkpoint(block, 1, use_reentrant=len(list(filter(None, [0, a == "x", 1]))))
checkpoint(block, 1, use_reentrant=[1, 2] == held)
stack = list(rest)
while stack:
    one = stack.pop(0)
    checkpoint(block, 1, use_reentrant=one)
