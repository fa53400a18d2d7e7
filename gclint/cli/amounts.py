"""Amounts as options take them: counts, sizes, times."""

from __future__ import annotations

import argparse
from contextlib import suppress


def count(text: str) -> int:
    """A number of processes."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"`{text}` is no number of processes: 1 or more")
    return int(text)


def size(text: str) -> int:
    """A size such as 24GiB, 24GB or 80G, in bytes; without an i they are powers of ten."""
    import re

    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if match is None or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{text} is no size, such as 24GiB")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** " KMGT".index(match[2].upper() or " "))


def seconds(text: str) -> float:
    """A time in seconds, more than none."""
    with suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise argparse.ArgumentTypeError(f"{text} is no time in seconds")


def positive(text: str) -> int:
    """A number of at least one."""
    with suppress(ValueError):
        if int(text) > 0:
            return int(text)
    raise argparse.ArgumentTypeError(f"{text} is not a positive number")
