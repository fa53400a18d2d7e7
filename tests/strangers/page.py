"""The tables of the measure, as Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.strangers.measure import Measure

VERDICTS = ("true", "false", "unsure", "not judged")
CERTAINTIES = ("fails", "fragile")
Z = 1.959964


def wilson(good: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share, by Wilson's formula."""
    share, spread = good / count, Z * Z / count
    middle = (share + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * math.sqrt(share * (1 - share) / count + spread / (4 * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def page(result: Measure) -> str:
    """Every table."""
    told = sum(result.findings.values())
    lines = [f"{result.repositories} repositories, {told} findings; the slowest took {result.slowest:.0f} s.", ""]
    lines += [f"- {trouble}" for trouble in result.troubles] + [""] * bool(result.troubles)
    lines += _by("certainty", result.findings, lambda key: key[1], CERTAINTIES)
    fails = Counter({key: n for key, n in result.findings.items() if key[0] != "GCL901"})
    lines += ["Without GCL901:", "", *_by("certainty", fails, lambda key: key[1], CERTAINTIES)]
    codes = sorted({f"{code} {certainty}" for code, certainty, _ in result.findings})
    lines += _by("code", result.findings, lambda key: f"{key[0]} {key[1]}", codes)
    lines += ["Judged before and no longer reported:", ""]
    gone = sorted({f"{code} {certainty}" for code, certainty, _ in result.gone})
    lines += _by("code", result.gone, lambda key: f"{key[0]} {key[1]}", gone)
    found, missed = result.sites["true", "found"], result.sites["true", "missed"]
    told_anyway = result.sites["false", "found"]
    lines.append(
        f"Places read beforehand where a state holds: {found + missed}, found {_share(found, found + missed)}."
    )
    lines.append(f"Places that only look so: {told_anyway + result.sites['false', 'missed']}, reported {told_anyway}.")
    return "\n".join(lines) + "\n"


Key = tuple[str, str, str]


def _by(head: str, counts: Counter[Key], row: Callable[[Key], str], rows: tuple[str, ...] | list[str]) -> list[str]:
    lines = [f"| {head} | {' | '.join(VERDICTS)} | share true |", "|---" * (len(VERDICTS) + 2) + "|"]
    for name in rows:
        of = [sum(n for key, n in counts.items() if row(key) == name and key[2] == verdict) for verdict in VERDICTS]
        lines.append(f"| {name} | {' | '.join(map(str, of))} | {_share(of[0], of[0] + of[1])} |")
    return [*lines, ""]


def _share(good: int, count: int) -> str:
    if not count:
        return "-"
    low, high = wilson(good, count)
    return f"{good} of {count}: {good / count:.0%} ({low:.0%} to {high:.0%})"
