import os
from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = os.environ['LETTER']
v0 = True
for v1 in range(2):
    for v2 in range(40):
        checkpoint(block, v2, use_reentrant=v2)
    checkpoint(block, 1, use_reentrant=v0 == 1)
    v0 = {'x': 1, 'y': 's'}.get(a, v0)
