"""The parts of a document: where in its text each key and each value stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

KeyPath = tuple[str | int, ...]
Shape = Literal["scalar", "block", "flow"]


class Part(NamedTuple):
    """A key and its value, or an item of a list: offsets in the text, ends exclusive.

    `start` is that of the key (of the value, where there is no key), `key_end` where the key ends. The value reaches
    from `value` to `end`; it is a scalar, or a collection written in lines (`block`) or in brackets (`flow`).
    """

    start: int
    key_end: int
    value: int
    end: int
    shape: Shape = "scalar"


Parts = Mapping[KeyPath, Part]


class BadText(ValueError):
    """A text that is no document of its kind; `offset` is where, None where that is not known."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.offset = offset


def within(parts: Parts, keys: KeyPath) -> dict[KeyPath, Part]:
    """The parts directly in a collection that are written there, in the order of the text."""
    whole = parts[keys]
    own = {
        path: part
        for path, part in parts.items()
        if path[:-1] == keys and path and whole.value <= part.start and part.end <= max(whole.end, part.start)
    }
    return dict(sorted(own.items(), key=lambda item: item[1].start))
