import sys
from torch.utils.checkpoint import checkpoint


def block(x):
    pass


a = sys.argv[1]
b = sys.argv[2]


class Base:
    q = None


class Own(Base):
    pass


made = Own()
try:
    {"x": True, "y": False}[a]
    type(made).q = "s"
except KeyError:
    pass
checkpoint(block, 1, use_reentrant=made.q)
checkpoint(block, 1, use_reentrant=Base.q)
