import os

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Counter:
    def __init__(self):
        self.number = 0
        self.half = 0


names = os.listdir(os.path.dirname(os.__file__))[:9]
every, count, fraction, late = 1, 0, 0.5, 0
held = Counter()
for index, name in enumerate(names):
    if (index + 1) % every == 0:
        checkpoint(block, 1, use_reentrant="each")  # 'each'
    else:
        checkpoint(block, 1, use_reentrant="never")  # nothing
    count += 1
    if count % every:
        checkpoint(block, 1, use_reentrant="nor here")  # nothing
    held.number += 1
    if held.number % every:
        checkpoint(block, 1, use_reentrant="nor there")  # nothing
    fraction += 1
    if fraction % every:
        checkpoint(block, 1, use_reentrant="of a half")  # 'of a half'
    if late % every:
        checkpoint(block, 1, use_reentrant="by halves")  # 'by halves'
    late += 0.5
    if held.half % every:
        checkpoint(block, 1, use_reentrant="by quarters")  # 'by quarters'
    held.half += 0.25
    if (index + 0.5) % every:
        checkpoint(block, 1, use_reentrant="between")  # 'between'
    if index % 2:
        checkpoint(block, 1, use_reentrant="odd")  # 'odd'
    if len(name) % every:
        checkpoint(block, 1, use_reentrant="long")  # 'long'
