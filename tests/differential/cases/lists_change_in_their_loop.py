import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    pass


a = sys.argv[1]
b = sys.argv[2]
shorter = [True, False]
for each in shorter:
    if a == "x":
        shorter.pop()
    checkpoint(block, 1, use_reentrant=each)
longer = [1, 2]
for each in longer:
    if len(longer) < 4:
        longer.append(3)
    checkpoint(block, 2, use_reentrant=each)
without = [1, 2, 3, 4]
for each in without:
    if each == 2:
        without.remove(each)
    checkpoint(block, 3, use_reentrant=each)
