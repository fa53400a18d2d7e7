import os
import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Counter:
    def __init__(self):
        self.x = 0


a = sys.argv[1]
names = os.listdir(os.path.dirname(os.__file__))[:9]
counter = Counter()
entries = vars(counter)
for name in names:
    counter.x += 1
    if counter.x < 0:
        checkpoint(block, 1, use_reentrant="put")  # 'put'
    entries[a] = -5
