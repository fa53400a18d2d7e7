import argparse
from torch.utils.checkpoint import checkpoint

def block(x):
    pass
parser = argparse.ArgumentParser()
parser.add_argument('--a', choices=['x', 'y', 'z'])
parser.add_argument('--b', action='store_true')
options = parser.parse_args()
l0 = [True, False, None]
o3 = iter(l0)
for v4, _ in zip(o3, [1]):
    pass
for v4 in o3:
    checkpoint(block, 1, use_reentrant=v4)
o3 = iter(l0)
for _, v4 in zip([1], o3):
    pass
for v4 in o3:
    checkpoint(block, 1, use_reentrant=v4)
o3 = (v for v in l0)
for v4 in o3:
    if v4 is False:
        break
checkpoint(block, 1, use_reentrant=next(o3, 3))
checkpoint(block, 1, use_reentrant=next(o3, 3))
o3 = iter([True, False, None, 1, 2])
for v4, v5 in zip(o3, o3):
    checkpoint(block, v4, use_reentrant=v5)
checkpoint(block, 1, use_reentrant=len(list(o3)))
for v4, v5 in zip(*[iter([1, 2, 3, 4])] * 2):
    checkpoint(block, v4, use_reentrant=v5)
