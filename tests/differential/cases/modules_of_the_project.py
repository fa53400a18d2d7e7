import sys

import helper
import table as other
from helper import choose
from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]
checkpoint(block, 1, use_reentrant=helper.MODE)
checkpoint(block, 1, use_reentrant=helper.choose(a))
if b == "on":
    helper.MODE = "changed"
    other.TABLE["k"] = a == "y"
checkpoint(block, 1, use_reentrant=helper.MODE)
checkpoint(block, 1, use_reentrant=choose("z"))
checkpoint(block, 1, use_reentrant=helper.Settings().mode)
checkpoint(block, 1, use_reentrant=other.TABLE["k"])
checkpoint(block, 1, use_reentrant=helper.table.TABLE["m"])
checkpoint(block, 1, use_reentrant=other.made)
# module table
TABLE = {"k": 1, "m": 2}


def __getattr__(name):
    return f"asked for {name}"
# module helper
import table

MODE = "first"


def choose(value):
    if value == "x":
        return table.TABLE["k"]
    return MODE


class Settings:
    mode = MODE

    def __init__(self):
        if MODE != "first":
            self.mode = "own"
