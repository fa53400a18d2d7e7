import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Base:
    mode = True


class Own(Base):
    pass


a = sys.argv[1]
made = Own()
if a == "y":
    Own.mode = 2
checkpoint(block, 1, use_reentrant=made.mode)
checkpoint(block, 1, use_reentrant=Own.mode)
checkpoint(block, 1, use_reentrant=Base.mode)
if a == "x":
    type(made).mode = 3
checkpoint(block, 1, use_reentrant=made.mode)
