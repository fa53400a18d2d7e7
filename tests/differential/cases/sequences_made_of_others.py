import sys
from collections import deque

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]
queue = deque(["p", "q"])
queue.appendleft("o")
checkpoint(block, 1, use_reentrant=queue[0])
checkpoint(block, 1, use_reentrant=len(queue))
for part in map(str.upper, ["a", "b"]):
    checkpoint(block, 1, use_reentrant=part)
some = ["a"]
if a == "x":
    some.append("b")
for part in map(lambda each: each + "!", some):
    checkpoint(block, 1, use_reentrant=part)
checkpoint(block, 1, use_reentrant=len(list(map(str, some))))
for one, other in zip(["a", "b"], ["c", "d", "e"]):
    checkpoint(block, 1, use_reentrant=one + other)
checkpoint(block, 1, use_reentrant=len(list(zip(["a", "b"], ["c", "d", "e"]))))
checkpoint(block, 1, use_reentrant=some is ["a"])
checkpoint(block, 1, use_reentrant=["a"] == ["a"])
checkpoint(block, 1, use_reentrant=["a"] == ["b"])
checkpoint(block, 1, use_reentrant=["a"] is some)
same = some
checkpoint(block, 1, use_reentrant=same is some)
checkpoint(block, 1, use_reentrant={"a": 1} is some)
