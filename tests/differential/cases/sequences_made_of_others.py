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


def record(part):
    checkpoint(block, 1, use_reentrant=part)


list(map(record, some))


class Fast:
    mode = "fast"


class Slow:
    mode = "slow"


fast, slow = Fast(), Slow()
chosen = fast if a == "x" else slow
checkpoint(block, 1, use_reentrant=chosen.mode)
chosen.mode = "new"
checkpoint(block, 1, use_reentrant=fast.mode)
checkpoint(block, 1, use_reentrant=slow.mode)
tables = {"k": 1}, {"k": 2}
table = tables[0] if a == "x" else tables[1]
table["k"] = 3
checkpoint(block, 1, use_reentrant=tables[0]["k"])
checkpoint(block, 1, use_reentrant=tables[1]["k"])
first, *rest = ["w", "x", "y"]
checkpoint(block, 1, use_reentrant=rest[1])
checkpoint(block, 1, use_reentrant=len(rest))
maybe = []
if a == "x":
    maybe.append("b")


def count(part):
    checkpoint(block, 1, use_reentrant="taken")


list(map(count, maybe))
