"""A finding's condition for people: the first few parts of it, and how many more there are.

JSON, and the properties of a SARIF result, have all of it.
"""

from __future__ import annotations

import re

MOST_PARTS = 4
MOST_CHARACTERS = 300
# what a statement beyond all bounds ends with (gclint.analysis.statement)
_COUNTED = re.compile(r"under (\d+) more conditions? too long to state")
_PIECE = re.compile(r"`[^`]*`|\(|\)| and |.", re.DOTALL)


def brief(condition: str) -> str:
    """Return the condition, beyond `MOST_PARTS` parts or `MOST_CHARACTERS` its first ones and the number of others."""
    parts = parts_of(condition)
    shown: list[str] = []
    for part in parts[:MOST_PARTS]:
        if len(" and ".join([*shown, part])) > MOST_CHARACTERS:
            break
        shown.append(part)
    counted = _COUNTED.fullmatch(parts[-1]) if len(shown) < len(parts) else None
    left = len(parts) - len(shown) + (int(counted[1]) - 1 if counted else 0)
    if not left or (left == 1 and len(condition) <= MOST_CHARACTERS):
        return condition
    if not shown:
        return "under conditions that `--output-format json` states"
    return " and ".join([*shown, f"{left} more condition{'' if left == 1 else 's'}"])


def parts_of(condition: str) -> list[str]:
    """Return the parts of a condition, which " and " joins outside of code and parentheses."""
    parts, depth = [""], 0
    for found in _PIECE.finditer(condition):
        piece = found.group()
        depth += (piece == "(") - (piece == ")")
        if piece == " and " and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return parts if condition else []
