import os
import sys
from contextlib import contextmanager

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]
folder = os.path.dirname(os.__file__)


@contextmanager
def within(value):
    yield value


def fail(word):
    raise ValueError(word)


class Settings:
    mode = "plain"


try:
    with within("in") if a == "x" else fail("out") as inner:
        checkpoint(block, 1, use_reentrant=inner)  # ?
    checkpoint(block, 1, use_reentrant="went well")  # 'went well'
except ValueError:
    checkpoint(block, 1, use_reentrant="failed")  # 'failed'
try:
    with fail("always") as inner:
        checkpoint(block, 1, use_reentrant="never")  # nothing
    checkpoint(block, 1, use_reentrant="never either")  # nothing
except ValueError:
    checkpoint(block, 1, use_reentrant="failed again")  # 'failed again'
with within("p") as one, within("q") as other:
    checkpoint(block, 1, use_reentrant=one + other)  # 'pq'
given = None if a == "x" else Settings()
if a != "x":
    try:
        checkpoint(block, 1, use_reentrant=given.mode)  # 'plain'
    except AttributeError:
        checkpoint(block, 1, use_reentrant="has none")  # 'has none'
count = 0
while os.path.exists(folder) and count < 2:
    count += 1
    checkpoint(block, 1, use_reentrant=count > 0)  # True
    checkpoint(block, 1, use_reentrant=count > 1)  # False, True
checkpoint(block, 1, use_reentrant=count)  # ?
while True:
    checkpoint(block, 1, use_reentrant="round")  # 'round'
    if os.path.exists(folder):
        break
    checkpoint(block, 1, use_reentrant="again")  # 'again'
checkpoint(block, 1, use_reentrant="left")  # 'left'
while not os.path.exists(folder):
    checkpoint(block, 1, use_reentrant="not entered")  # 'not entered'
else:
    checkpoint(block, 1, use_reentrant="over")  # 'over'
left = os.listdir(folder)[:2]
while left:
    checkpoint(block, 1, use_reentrant="taken")  # 'taken'
    left.pop()
number = 0
while number < 80:
    number += 1
    checkpoint(block, 1, use_reentrant=number > 0)  # True
checkpoint(block, 1, use_reentrant=number)  # ?
state = "first"
while state != "last":
    checkpoint(block, 1, use_reentrant=state)  # 'first', 'second'
    state = {"first": "second", "second": "last"}[state]
while a == "x":
    checkpoint(block, 1, use_reentrant="once")  # 'once'
    a = "y"
while False:
    checkpoint(block, 1, use_reentrant="never")  # nothing
try:
    with within(fail("before")) as inner:
        checkpoint(block, 1, use_reentrant="never")  # nothing
except ValueError:
    checkpoint(block, 1, use_reentrant="failed")  # 'failed'
if given is not None:
    try:
        mode = given.mode
    except AttributeError:
        checkpoint(block, 1, use_reentrant="has none")  # nothing
mode = "p"
while b == "on":
    mode = "q"
    if os.path.exists(folder):
        break
checkpoint(block, 1, use_reentrant=mode)  # 'q', ?
