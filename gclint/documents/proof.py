"""Whether an edited document is what it was, but for the one value that each edit writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .parts import KeyPath, Parts

if TYPE_CHECKING:
    from ..ir.configs import Document

_PUT_IN = re.compile(r"\$\{|\{\{|<%")
_GENERATED = re.compile(r"(?i)@generated|\bdo not (?:edit|modify)\b|\bautomatically generated\b|\bauto-?generated\b")


class Piece(NamedTuple):
    """An edit: from `start` to `end` of the text before, from `start_after` to `end_after` of that after it."""

    start: int
    end: int
    start_after: int
    end_after: int


def fault_of(old: Document, new: Document, pieces: Sequence[Piece]) -> str:
    """What is wrong with `new`, made from `old` by `pieces`; "" where every edit gives one value, and nothing else."""
    head = old.text[:400]
    if _GENERATED.search("\n".join(line for line in head.splitlines() if line.lstrip()[:1] in ("#", "/", ";"))):
        return "it says that it is generated: change what it is made from"
    changed = _changed(old.value, new.value, ())
    for piece in pieces:
        own = [keys for keys in changed if _covers(new.parts, keys, piece.start_after, piece.end_after)]
        if len(own) > 1:
            return f"`{_name(own[0])}` is written together with `{_name(own[1])}`: both would change"
        before = old.parts.get(own[0]) if own else None
        if before is not None and _PUT_IN.search(old.text[before.value : before.end]):
            return f"`{_name(own[0])}` is put in from elsewhere ({old.text[before.value : before.end]})"
        changed = [keys for keys in changed if keys not in own]
    return f"`{_name(changed[0])}` would change as well" if changed else ""


def _changed(old: Any, new: Any, keys: KeyPath) -> list[KeyPath]:
    """The shortest paths at which two values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        common = [key for key in old if key in new]
        if common != [key for key in new if key in old] or any(key not in new for key in old):
            return [keys]
        return [
            path
            for key in new
            for path in (_changed(old[key], new[key], (*keys, key)) if key in old else [(*keys, key)])
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            path for at, (one, two) in enumerate(zip(old, new, strict=True)) for path in _changed(one, two, (*keys, at))
        ]
    return [] if type(old) is type(new) and old == new else [keys]


def _covers(parts: Parts, keys: KeyPath, start: int, end: int) -> bool:
    """Whether the edited text is where the value is written now, or where a whole key was put in."""
    part = parts.get(keys)
    return part is not None and ((start <= part.value and part.end <= end) or (part.value <= start and end <= part.end))


def _name(keys: KeyPath) -> str:
    return ".".join(map(str, keys)) or "the whole file"
