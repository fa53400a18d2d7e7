import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]

match a:
    case "x" as held:
        checkpoint(block, 1, use_reentrant=held == "x")
    case "y" | "z" as other if b == "on":
        checkpoint(block, 1, use_reentrant="either")
    case rest:
        checkpoint(block, 1, use_reentrant=rest == "x")
mode = True if a == "x" else None if a == "y" else 2
match mode:
    case None:
        checkpoint(block, 1, use_reentrant="none")
    case True:
        checkpoint(block, 1, use_reentrant="true")
    case _ if b == "off":
        checkpoint(block, 1, use_reentrant=mode)
match "known":
    case "other":
        checkpoint(block, 1, use_reentrant="never")
    case "known":
        checkpoint(block, 1, use_reentrant="known")
    case _:
        checkpoint(block, 1, use_reentrant="never")
