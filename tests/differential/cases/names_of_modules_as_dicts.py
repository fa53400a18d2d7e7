import sys

import helper
from torch.utils.checkpoint import checkpoint


def block(x):
    return x


def other(x):
    return x


a = sys.argv[1]
b = sys.argv[2]
LIMIT = 3
checkpoint(block, 1, use_reentrant=helper.__dict__["MODE"])
checkpoint(block, 1, use_reentrant=helper.__dict__["choose"](a))
checkpoint(block, 1, use_reentrant=vars(helper)["choose"]("z"))
checkpoint(block, 1, use_reentrant=helper.made("choose")(b))
checkpoint(globals()["block"], 1, use_reentrant=globals()["LIMIT"])
checkpoint(block, 1, use_reentrant="MODE" in helper.__dict__)
checkpoint(block, 1, use_reentrant=globals().get("missing", "none"))
checkpoint(block, 1, use_reentrant=sys.modules["helper"].MODE)
if a == "y":
    helper.MODE = "changed"
    globals()["LIMIT"] = 4
checkpoint(block, 1, use_reentrant=helper.__dict__["MODE"])
checkpoint(block, 1, use_reentrant=LIMIT)
checkpoint(block, 1, use_reentrant=sorted(name for name in helper.__dict__ if name.isupper()) == ["MODE"])
for name in ("choose", "again"):
    checkpoint(block, 1, use_reentrant=helper.__dict__[name](b))
checkpoint(block, 1, use_reentrant=vars(sys.modules["helper"])["Settings"]().mode)
# module helper
MODE = "first"


def choose(value):
    if value == "x":
        return 7
    return MODE


def again(value):
    return f"again {choose(value)}"


def made(name):
    return globals()[name]


class Settings:
    mode = MODE
