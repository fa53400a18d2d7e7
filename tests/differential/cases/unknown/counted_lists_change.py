import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    pass


a = sys.argv[1]
b = sys.argv[2]
numbers = [1, 2, 3, 4]
for place, each in enumerate(numbers):
    if each == 2 and a == "x":
        numbers.remove(each)
    checkpoint(block, place, use_reentrant=each)
