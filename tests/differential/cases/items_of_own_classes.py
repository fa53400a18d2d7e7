import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Settings:
    def __init__(self, **given):
        for key, value in given.items():
            if type(value) == dict:
                value = Settings(**value)
            self[key] = value

    def __setitem__(self, key, value):
        if value == "nothing":
            return
        setattr(self, key, value)

    def __getitem__(self, key):
        return getattr(self, key)


class Counted:
    def __init__(self):
        self.taken = 0
        self.last = "none"

    def __getitem__(self, place):
        self.taken += 1
        if place > 2:
            raise IndexError(place)
        return place * 10

    def __setitem__(self, place, value):
        self.last = f"{place}:{value}"


class Below(Counted):
    pass


a = sys.argv[1]
settings = Settings(width=3, inner={"depth": 4, "name": "nothing"})
settings["width"] = 5 if a == "x" else 6
checkpoint(block, 1, use_reentrant=settings["width"])
checkpoint(block, 1, use_reentrant=settings.inner["depth"])
settings["more"] = a
checkpoint(block, 1, use_reentrant=settings.more == "y")
counted = Below()
counted[1] = "p"
if a == "z":
    counted[2] = "q"
checkpoint(block, 1, use_reentrant=counted.last)
checkpoint(block, 1, use_reentrant=counted[2])
try:
    counted[3]
    checkpoint(block, 1, use_reentrant="is there")
except IndexError:
    checkpoint(block, 1, use_reentrant="is not there")
checkpoint(block, 1, use_reentrant=counted.taken)
