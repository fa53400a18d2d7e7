import os

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Counter:
    def __init__(self):
        self.number = 0
        self.entries = {"number": 0}


number = total = kept = 0
held = Counter()
names = os.listdir(os.path.dirname(os.__file__))


def one_more():
    global total
    total += 1
    if total == 3:
        checkpoint(block, 1, use_reentrant="third of all")  # 'third of all'


for name in names:
    own = 0
    own += 1
    checkpoint(block, 1, use_reentrant=own)  # 1
    number += 1
    if number == 2:
        checkpoint(block, 1, use_reentrant="second")  # 'second'
    held.number += 1
    if held.number == 4:
        checkpoint(block, 1, use_reentrant="fourth")  # 'fourth'
    held.entries["number"] += 1
    if held.entries["number"] == 5:
        checkpoint(block, 1, use_reentrant="fifth")  # 'fifth'
    one_more()
checkpoint(block, 1, use_reentrant=number)  # ?
checkpoint(block, 1, use_reentrant=total)  # ?
checkpoint(block, 1, use_reentrant=held.number)  # ?
seen = []
while kept < 100:
    kept += 1
    seen.append(kept)
    if kept == 90:
        checkpoint(block, 1, use_reentrant="ninetieth")  # 'ninetieth'
if len(seen) == 100:
    checkpoint(block, 1, use_reentrant="all")  # 'all'
few = 0
while True:
    few += 1
    if few == 3:
        break
checkpoint(block, 1, use_reentrant=few)  # 3
