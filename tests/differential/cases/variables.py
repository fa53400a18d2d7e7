import os

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = os.environ["LETTER"]
b = os.environ.get("SWITCH", "off")
os.environ["MODE"] = "first"
checkpoint(block, 1, use_reentrant=os.environ.setdefault("MODE", "second"))
if a == "x":
    os.environ["MODE"] = "changed"
elif a == "y":
    del os.environ["MODE"]
checkpoint(block, 1, use_reentrant=os.environ.get("MODE", "none"))
checkpoint(block, 1, use_reentrant="MODE" in os.environ)
checkpoint(block, 1, use_reentrant=os.environ.setdefault("MODE", "default"))
checkpoint(block, 1, use_reentrant=os.environ["MODE"])
try:
    if b == "on":
        os.environ.pop("MODE")
    checkpoint(block, 1, use_reentrant=os.environ["MODE"])
    checkpoint(block, 1, use_reentrant="set")
except KeyError:
    checkpoint(block, 1, use_reentrant="unset")
