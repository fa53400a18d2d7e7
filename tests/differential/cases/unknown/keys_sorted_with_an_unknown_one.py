import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
table = {"x": True, "y": False}
table[a] = "s"
checkpoint(block, 1, use_reentrant=sorted(table)[0])  # ?
