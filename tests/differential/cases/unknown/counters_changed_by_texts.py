import os
import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Counter:
    def __init__(self):
        self.x = 0
        self.y = 0
        self.z = 0


class Loaded(Counter):
    def load(self, entries):
        self.__dict__.update(entries)


class Setting(Counter):
    def put(self, name, value):
        super().__setattr__(name, value)


def put(holder, name, value):
    setattr(holder, name, value)


a = sys.argv[1]
names = os.listdir(os.path.dirname(os.__file__))[:9]
by_name, entry, updated, given = Counter(), Counter(), Counter(), Counter()
loaded, setting = Loaded(), Setting()
for name in names:
    by_name.x += 1
    if by_name.x < 0:
        checkpoint(block, 1, use_reentrant="by name")  # 'by name'
    setattr(by_name, a, -5)
    entry.y += 1
    if entry.y < 0:
        checkpoint(block, 1, use_reentrant="entry")  # 'entry'
    vars(entry)[a] = -5
    updated.z += 1
    if updated.z < 0:
        checkpoint(block, 1, use_reentrant="updated")  # 'updated'
    updated.__dict__.update({a: -5})
    loaded.x += 1
    if loaded.x < 0:
        checkpoint(block, 1, use_reentrant="loaded")  # 'loaded'
    loaded.load({a: -5})
    given.z += 1
    if given.z < 0:
        checkpoint(block, 1, use_reentrant="given")  # 'given'
    put(given, a, -5)
    setting.y += 1
    if setting.y < 0:
        checkpoint(block, 1, use_reentrant="setting")  # 'setting'
    setting.put(a, -5)
