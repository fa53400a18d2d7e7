import sys
from collections import defaultdict, namedtuple
from contextlib import suppress

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]

found = {}
found[a] = "first"
found["y"] = "second"
checkpoint(block, 1, use_reentrant=found.get("x", "none"))
checkpoint(block, 1, use_reentrant=found["y"])
checkpoint(block, 1, use_reentrant=found[a])
if b == "on":
    found[a] = "third"
checkpoint(block, 1, use_reentrant=found.pop("z", "none"))
checkpoint(block, 1, use_reentrant=found.get("z", "gone"))
try:
    found["x"]
except KeyError:
    checkpoint(block, 1, use_reentrant="not x")
table = {"x": 1, "y": 2}
with suppress(KeyError):
    table[a]
    checkpoint(block, 1, use_reentrant="among them")
if a == "z":
    table[a] = 3
checkpoint(block, 1, use_reentrant=len(table))
for place, key in enumerate(table):
    checkpoint(block, 1, use_reentrant=place)
    checkpoint(block, 1, use_reentrant=key)
groups = defaultdict(list)
groups["x"].append(1)
if b == "on":
    groups["y"].append(2)
checkpoint(block, 1, use_reentrant=len(groups["y"]))
Pair = namedtuple("Pair", "left right")
pair = Pair(1, right=a == "x")
checkpoint(block, 1, use_reentrant=pair.left)
checkpoint(block, 1, use_reentrant=pair[1])
