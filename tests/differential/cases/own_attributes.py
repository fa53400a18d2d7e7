import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


def say(x):
    checkpoint(block, 1, use_reentrant=x)


class Holder:
    pass


class Wraps:
    def __init__(self, held):
        self.held = held

    def __getattr__(self, name):
        return getattr(self.held, name)


class OfDict:
    def __init__(self, held):
        self.held = held

    def __getattr__(self, name):
        return self.held[name]


class Keeps:
    def __init__(self):
        self.__dict__["held"] = {}

    def __setattr__(self, name, value):
        self.held[name] = value

    def __getattr__(self, name):
        return self.held[name]


class TurnsBySuper:
    def __setattr__(self, name, value):
        super().__setattr__(name, not value)


class TurnsByObject:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, not value)


class TurnsSome:
    def __setattr__(self, name, value):
        if name == "x":
            value = not value
        self.__dict__[name] = value


class Computed:
    @property
    def x(self):
        return a == "z"

    def __getattr__(self, name):
        return False


a = sys.argv[1]
inner = Holder()
inner.x = a == "z"
outer = Wraps(inner)
say(outer.x)
inner.x = True
say(outer.x)
outer.y = False
say(outer.y)
held = OfDict({"x": a == "z", "y": True})
say(held.x)
say(held.y)
keeps = Keeps()
keeps.x = a == "z"
say(keeps.held["x"])
for turns in (TurnsBySuper(), TurnsByObject(), TurnsSome()):
    turns.x = a == "z"
    say(turns.x)
computed = Computed()
say(computed.x)
say(computed.q)
