"""A finding's condition for people: the first few parts of it, and how many more there are.

JSON, and the properties of a SARIF result, have all of it.
"""

from __future__ import annotations

from gclint.finding import Condition

MOST_PARTS = 4
MOST_CHARACTERS = 300


def brief(condition: Condition) -> str:
    """Return the condition, beyond `MOST_PARTS` parts or `MOST_CHARACTERS` its first ones and the number of others."""
    shown: list[str] = []
    for part in condition.parts[:MOST_PARTS]:
        if len(" and ".join([*shown, part])) > MOST_CHARACTERS:
            break
        shown.append(part)
    whole, hidden = str(condition), len(condition.parts) - len(shown)
    left = hidden + condition.more
    if not hidden or (left == 1 and len(whole) <= MOST_CHARACTERS):
        return whole
    if not shown:
        return "under conditions that `--output-format json` states"
    return " and ".join([*shown, f"{left} more condition{'' if left == 1 else 's'}"])
