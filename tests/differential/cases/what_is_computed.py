import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]
m = 0 if a == "x" else 4
n = 2 if a == "x" else "s" if b == "on" else 3
checkpoint(block, 1, use_reentrant=str(m) + str(n))
checkpoint(block, 1, use_reentrant=f"{m}-{n}")
try:
    checkpoint(block, 1, use_reentrant=12 // m)
    checkpoint(block, 1, use_reentrant=m - 1)
except ZeroDivisionError:
    checkpoint(block, 1, use_reentrant="zero")
checkpoint(block, 1, use_reentrant=-m)
checkpoint(block, 1, use_reentrant=2**m)
checkpoint(block, 1, use_reentrant=m or "falls through")
checkpoint(block, 1, use_reentrant=m and n)
checkpoint(block, 1, use_reentrant=None or m or b == "on")
checkpoint(block, 1, use_reentrant=" x-y ".strip().split("-")[m and 1])
checkpoint(block, 1, use_reentrant="abc"[1:])
checkpoint(block, 1, use_reentrant="abc".startswith("a") and "abc".upper() == "ABC")
if (size := len("abc")) > 2 and not (m and size < 3):
    checkpoint(block, 1, use_reentrant=size)
checkpoint(block, 1, use_reentrant="-".join(["p", "x" if m else "y"]))
checkpoint(block, 1, use_reentrant="".join([]))
checkpoint(block, 1, use_reentrant="p,q".split(",")[1])
checkpoint(block, 1, use_reentrant=list(map(str, [m, 1]))[1])
checkpoint(block, 1, use_reentrant=list(map(lambda v: v or "none", [m, 1]))[0])
checkpoint(block, 1, use_reentrant=int("7") + len(str(12)))
n += 1 if n == 3 else n
checkpoint(block, 1, use_reentrant=n)
checkpoint(block, 1, use_reentrant="listed" if ["x"] == a else "not listed")
