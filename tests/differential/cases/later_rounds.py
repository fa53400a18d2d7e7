import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
mode = None
for number in range(16):
    if number == 12 and a == "x":
        mode = True
    checkpoint(block, 1, use_reentrant=mode)
    if number == 13:
        break
else:
    checkpoint(block, 1, use_reentrant="never")
count = 0
while True:
    count += 2
    if count > 6 or (a == "y" and count > 3):
        break
checkpoint(block, 1, use_reentrant=count)
