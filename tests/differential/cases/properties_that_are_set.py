import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]


class Holder:
    def __init__(self, mode):
        self._mode = mode
        self.changes = 0

    @property
    def mode(self):
        return self._mode

    @mode.setter
    def mode(self, value):
        self.changes += 1
        self._mode = value or "none"

    @mode.deleter
    def mode(self):
        self._mode = "gone"


class Later(Holder):
    @property
    def twice(self):
        return self.mode, self.changes


held = Later("first")
checkpoint(block, 1, use_reentrant=held.mode)
if a == "x":
    held.mode = None
checkpoint(block, 1, use_reentrant=held.mode)
held.mode = a
checkpoint(block, 1, use_reentrant=held.twice[1] > 1)
checkpoint(block, 1, use_reentrant=held.twice[0] == "y")
