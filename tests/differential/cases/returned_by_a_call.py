import sys
from contextlib import contextmanager
from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]


def listed():
    return [True, None]


def yielded():
    yield 1
    yield 2


def nothing():
    if False:
        yield 3


for value in listed():
    checkpoint(block, 1, use_reentrant=value)
for value in (listed if a == "x" else yielded)():
    checkpoint(block, 1, use_reentrant=value)
checkpoint(block, 1, use_reentrant=len(list(nothing())))
for value in nothing():
    checkpoint(block, 1, use_reentrant="never")


class Held:
    def __enter__(self):
        return "entered"

    def __exit__(self, *error):
        return None


def held():
    return Held()


@contextmanager
def managed():
    yield "managed"


with held() as value:
    checkpoint(block, 1, use_reentrant=value)
with (held if a == "x" else managed)() as value:
    checkpoint(block, 1, use_reentrant=value)
