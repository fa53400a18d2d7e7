"""Where the values of a JSON text stand."""

from __future__ import annotations

import json
import re

from .parts import BadText, KeyPath, Part

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def json_parts(text: str, most: int) -> dict[KeyPath, Part]:
    """The parts of a text that Python's json reads; of a key given twice, the later.

    Raises `BadText` where there are more than `most`.
    """
    parts: dict[KeyPath, Part] = {}
    around: list[tuple[KeyPath, Part, bool]] = []  # each open collection: its key, its place, whether it has keys
    keys: KeyPath = ()
    key: tuple[int, int] | None = None  # where the key stands whose value comes next
    for found in TOKEN.finditer(text):
        token, start, end = found.group(), found.start(), found.end()
        has_keys = bool(around) and around[-1][2]
        if token == ":":
            continue
        if token == ",":
            keys = keys if has_keys else (*keys[:-1], _count(keys) + 1)
        elif token in "}]":
            outer, part, _ = around.pop()
            parts[outer] = part._replace(end=end)
            keys = outer
        elif has_keys and key is None:
            keys, key = (*around[-1][0], json.loads(token)), (start, end)
        else:
            first, last = key or (start, start)
            part = Part(first, last, start, end, "flow" if token in "{[" else "scalar")
            if len(parts) > most:
                raise BadText("too many values", start)
            parts.pop(keys, None)
            parts[keys], key = part, None
            if token in "{[":
                around.append((keys, part, token == "{"))
                keys = keys if token == "{" else (*keys, 0)
    return parts


def _count(keys: KeyPath) -> int:
    return keys[-1] if isinstance(keys[-1], int) else 0
