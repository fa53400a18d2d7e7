import sys
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]


def given(first, second="two", *rest, only="only", **others):
    return [first, second, len(rest), only, others.get("more", "none")]


def nothing():
    if a == "x":
        return "x"


def after(n):
    return n if n == 0 else after(n - 1)


@dataclass
class Settings:
    mode: str
    depth: int = 2

    def __post_init__(self):
        self.twice = self.depth * 2


class Pair(NamedTuple):
    left: str
    right: str = "right"


class Called:
    def __init__(self, *held):
        self.held = held

    def __call__(self, place=0):
        return self.held[place]


values = ["a", "b", "c"]
checkpoint(block, 1, use_reentrant=given(*values)[0])
checkpoint(block, 1, use_reentrant=given(*values)[2])
checkpoint(block, 1, use_reentrant=nothing())
checkpoint(block, 1, use_reentrant=after(1))
checkpoint(block, 1, use_reentrant=Settings(a).depth)
checkpoint(block, 1, use_reentrant=Settings("m", depth=4).twice)
checkpoint(block, 1, use_reentrant=Settings(depth=1, mode="kept").mode)
checkpoint(block, 1, use_reentrant=Pair("left").right)
checkpoint(block, 1, use_reentrant=Pair(right="r", left="l").left)
checkpoint(block, 1, use_reentrant=Called("p", "q")(1))
checkpoint(block, 1, use_reentrant=Called("p", "q")())
again = partial(given, "one", only="by partial")
checkpoint(block, 1, use_reentrant=again()[3])
checkpoint(block, 1, use_reentrant=again(only="over")[3])
checkpoint(block, 1, use_reentrant=again("second")[1])
checkpoint(block, 1, use_reentrant=(lambda v, w="w": w if v == "x" else v)("x"))
