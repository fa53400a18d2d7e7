import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]
match a:
    case "x" if b == "on":
        mode = 1
    case "x" | "y":
        mode = 2
    case _:
        mode = 3
checkpoint(block, 1, use_reentrant=mode)
match b:
    case "on":
        pass
    case other:
        checkpoint(block, 1, use_reentrant=mode == 2)
