import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]
queue = ["p", "q"]
if b == "on":
    queue.append("r")
while queue:
    part = queue.pop(0)
    if part == "q" and a == "y":
        queue.append("again")
    checkpoint(block, 1, use_reentrant=part)
left = {"one": 1, "two": 2}
while left:
    name = list(left)[-1]
    checkpoint(block, 1, use_reentrant=left.pop(name))
    if a == "x" and name == "two":
        break
else:
    checkpoint(block, 1, use_reentrant="all taken")
checkpoint(block, 1, use_reentrant=len(left))
size = 1
while size < 20:
    size *= 3
    if size == 9 and a != "z":
        continue
    checkpoint(block, 1, use_reentrant=size)
for part in ("p", "q") if b == "on" else ("r",):
    for number in range(2):
        if part == "q":
            break
        if number and a == "x":
            continue
        checkpoint(block, 1, use_reentrant=f"{part}{number}")
    else:
        checkpoint(block, 1, use_reentrant=part)
checkpoint(block, 1, use_reentrant=part)
