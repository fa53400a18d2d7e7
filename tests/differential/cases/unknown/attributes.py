import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Bare:
    pass


class Fast:
    mode = "fast"


a = sys.argv[1]
one = Bare() if a == "x" else Fast()
if a != "x":
    checkpoint(block, 1, use_reentrant=one.mode)  # 'fast'
    checkpoint(block, 1, use_reentrant="on")  # 'on'
if a != "x":
    try:
        word = one.mode
    except AttributeError:
        checkpoint(block, 1, use_reentrant="none")  # nothing
text = "t" if a == "x" else Fast()
if a != "x":
    try:
        word = text.mode
    except AttributeError:
        checkpoint(block, 1, use_reentrant="none")  # nothing
held = Fast()
held.inner = one
if a != "x":
    try:
        word = held.inner.mode
    except AttributeError:
        checkpoint(block, 1, use_reentrant="none")  # nothing
table = {"k": one}
if a != "x":
    try:
        word = table["k"].mode
    except AttributeError:
        checkpoint(block, 1, use_reentrant="none")  # nothing
