import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Plain(dict):
    pass


class Reads(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            return None

    def __setattr__(self, name, value):
        self[name] = value


class Same(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Taken(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


class Filled(dict):
    def __init__(self, given, more):
        dict.__init__(self)
        for key in given:
            self[key] = given[key]
        self.update(more)
        self.extra = len(self)


def say(x):
    checkpoint(block, 1, use_reentrant=x)


a = sys.argv[1]
plain = Plain(x=True)
plain["y"] = a == "z"
say(plain["x"])
say(plain["y"])
say("w" in plain)
try:
    w = plain["w"]
except KeyError:
    w = False
say(w)
reads = Reads()
reads.x = True
if a == "z":
    reads.x = False
say(reads["x"])
say(bool(reads.y))
reads["y"] = a != "z"
say(reads.y)
setattr(reads, "v", a == "z")
say(reads["v"])
same = Same({"x": True}, y=False)
same["x"] = a != "z"
say(same.x)
same.update(w=True)
say(same.w)
del same.w
say("w" in same)
taken = Taken(x=a == "z")
taken.y = True
say(taken.x)
say(taken["y"])
del taken.y
say(bool(taken.y))
filled = Filled({"x": True}, {"y": a == "z"})
say(filled["y"])
say(filled.extra == 2)
