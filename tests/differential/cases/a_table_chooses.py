import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
if a != "z":
    checkpoint(block, 1, use_reentrant={"x": True, "y": False}[a])
