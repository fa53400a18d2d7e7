"""What code says so that mypyc can compile it (`GCLINT_COMPILE=1`, setup.py); this module itself stays Python."""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

T = TypeVar("T")


def interpreted(kind: type[T]) -> type[T]:
    """The class itself. mypyc leaves one with a decorator that it does not know to Python: one that has parts worked
    out on demand, kept in its `__dict__`, or that is a dict, a list or a text
    (https://mypyc.readthedocs.io/en/stable/native_classes.html).
    """
    return kind


class cached(cached_property[T]):
    """`functools.cached_property` under a name of our own: by its own one mypyc takes it for a property, which works
    its value out each time (`refers_to_fullname` in mypy/semanal.py).
    """
