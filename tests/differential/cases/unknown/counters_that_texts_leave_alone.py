import os
import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Counter:
    def __init__(self):
        self.x = 0
        self.y = 0


class Telling(Counter):
    def tell(self, other):
        for name in vars(self):
            self.told = name in self.__dict__ and self.__dict__[name]
        setattr(self, "y", len({**self.__dict__, **dict(vars(other))}))
        self.__dict__.update(y=3)
        self.__dict__["y"] = self.__dict__.get(name)


class Settings:
    def put(self, name, value):
        setattr(self, name, value)


def filled(settings, entries):
    for name, value in entries.items():
        setattr(settings, name, value)
    return settings


a = sys.argv[1]
names = os.listdir(os.path.dirname(os.__file__))[:9]
settings = filled(Settings(), {a: 1})
vars(settings)[a] = 3
counter, telling = Counter(), Telling()
for name in names:
    counter.x += 1
    settings.put(a, -5)
    if counter.x < 0:
        checkpoint(block, 1, use_reentrant="never")  # nothing
    telling.x += 1
    if telling.x < 0:
        checkpoint(block, 1, use_reentrant="nor here")  # nothing
    telling.tell(settings)
