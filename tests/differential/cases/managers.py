import sys
from contextlib import contextmanager, suppress

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
mode = "before"


@contextmanager
def as_mode(value):
    global mode
    held, mode = mode, value
    try:
        yield value
    finally:
        mode = held


class Quiet:
    def __enter__(self):
        self.open = True
        return self

    def __exit__(self, *error):
        self.open = False


def run(*given, **named):
    with as_mode(*given) as inner:
        checkpoint(block, *[1], use_reentrant=mode)
        if a == "x":
            return inner
    return named.get("other")


checkpoint(block, 1, use_reentrant=run("in", other=None))
checkpoint(block, 1, use_reentrant=mode)
with Quiet() as quiet:
    checkpoint(block, 1, use_reentrant=quiet.open)
checkpoint(block, 1, use_reentrant=quiet.open)
with suppress(KeyError):
    mode = {"x": 1, "y": 2}[a]
    checkpoint(block, 1, use_reentrant="known")
checkpoint(block, 1, use_reentrant=mode)
