import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


held = {"x": True, "y": False}
held[sys.argv[1]] = True
checkpoint(block, 1, use_reentrant=list(held)[0])  # ?
