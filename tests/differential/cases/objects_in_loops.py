import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]


class Yields:
    def __init__(self, held):
        self.held = held

    def __iter__(self):
        checkpoint(block, 1, use_reentrant="begun")
        for each in self.held:
            if each != "q" or b == "on":
                yield each
        checkpoint(block, 1, use_reentrant="ended")


class HandsOn:
    def __init__(self, held):
        self.held = held

    def __iter__(self):
        return iter(self.held)


class YieldsFrom(HandsOn):
    def __iter__(self):
        yield from self.held


class Once:
    def __init__(self, value):
        self.value = value
        self.taken = False

    def __iter__(self):
        return self

    def __next__(self):
        if self.taken:
            raise StopIteration
        self.taken = True
        return self.value


for value in Yields(["p", "q"]):
    checkpoint(block, 1, use_reentrant=value)
    if a == "x":
        break
for value in HandsOn(["r", "s"]):
    checkpoint(block, 1, use_reentrant=value)
for value in HandsOn(Yields(["t"])):
    checkpoint(block, 1, use_reentrant=value)
for number, value in enumerate(HandsOn(["u"])):
    checkpoint(block, number, use_reentrant=value)
for number, value in enumerate(Yields(["v"])):
    checkpoint(block, 1, use_reentrant=value)
for value in YieldsFrom(["w"]):
    checkpoint(block, 1, use_reentrant=value)
for value in Once("one"):
    checkpoint(block, 1, use_reentrant=value)
if b == "on":
    checkpoint(block, 1, use_reentrant=[value for value in Yields(["listed"])][0])
    checkpoint(block, 1, use_reentrant=next(iter(Yields(["first"]))))
