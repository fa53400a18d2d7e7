"""Whether an exception is the one that a finding foretells."""

from __future__ import annotations

import re

CLASS = re.compile(r"[A-Z]\w+")
ARGUMENT = re.compile(r"argument '\w+'")


def is_symptom(failure: str, symptom: str) -> bool:
    """Whether a failure ("Class: text") has the class of a finding's symptom, and half of its words or more.

    A symptom without a class at its beginning ("silent: ...") is no exception's; one of an argument is of that one.
    """
    kind, _, text = symptom.partition(":")
    if not CLASS.fullmatch(kind) or failure.partition(":")[0] != kind:
        return False
    if not all(each in failure for each in ARGUMENT.findall(text)):
        return False
    words = [word for word in text.split() if len(word) > 3]
    return sum(word in failure for word in words) * 2 >= len(words)
