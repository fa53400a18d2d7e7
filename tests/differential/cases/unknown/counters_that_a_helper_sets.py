import os
import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Counter:
    def __init__(self):
        self.x = 0


def put(holder, name, value):
    setattr(holder, name, value)


a = sys.argv[1]
names = os.listdir(os.path.dirname(os.__file__))[:9]
first, second = Counter(), Counter()


def count():
    for name in names:
        second.x += 1
        if second.x < 0:
            checkpoint(block, 1, use_reentrant="put")  # 'put'
        put(second, a, -5)


put(first, a, 0)
count()
