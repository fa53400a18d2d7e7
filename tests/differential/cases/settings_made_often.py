import os
from torch.utils.checkpoint import checkpoint


def block(x):
    return x


class Settings:
    def __init__(self):
        self.task = ['x', 'y'][0]
        self.paths = {}
        for kind in ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't'):
            if kind in ('a', 'b', 'c'):
                folder = 'first'
            elif kind in ('d', 'e', 'f'):
                folder = 'second'
            else:
                folder = ''
            self.paths[kind] = os.path.join('root', folder, kind)
        self.weights = {'bce': 30, 'off': 5 * 0}


for _ in range(6):
    settings = Settings()
    if settings.weights['off']:
        checkpoint(block, 1, use_reentrant=True)
    checkpoint(block, settings.task, use_reentrant=settings.weights['bce'])
checkpoint(block, 1, use_reentrant=Settings().weights['off'] or settings.task)
