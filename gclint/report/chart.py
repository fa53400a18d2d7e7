"""A small chart as SVG: one line for each rank, or for each kind of thing that is counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, LEFT, BELOW = 360, 150, 52, 22
Line = Sequence[float | None]


def chart(title: str, names: Sequence[str], lines: Sequence[Line], ends: Sequence[str] = ()) -> str:
    """Return a figure of lines over the steps, of which the first and last may have names at the two `ends`; "" where
    there is nothing to draw.
    """
    known = [value for line in lines for value in line if value is not None and math.isfinite(value)]
    count = max((len(line) for line in lines), default=0)
    if not known or count < 2:
        return ""
    least, most = min(known), max(known)
    room = (most - least) or abs(most) or 1.0
    drawn = "".join(
        f'<path class="line rank{index % 6}" d="{_path(line, count, least, room)}"><title>{escape(name)}</title></path>'
        for index, (name, line) in enumerate(zip(names, lines, strict=True))
    )
    marks = (
        f'<text x="{LEFT - 6}" y="14" text-anchor="end">{most:.3g}</text>'
        f'<text x="{LEFT - 6}" y="{HEIGHT - BELOW}" text-anchor="end">{least:.3g}</text>'
        f'<text x="{LEFT}" y="{HEIGHT - 5}">{escape(ends[0]) if ends else 1}</text>'
        f'<text x="{WIDTH - 4}" y="{HEIGHT - 5}" text-anchor="end">{escape(ends[-1]) if ends else count}</text>'
    )
    axis = f'<path class=axis d="M{LEFT} 6V{HEIGHT - BELOW}H{WIDTH - 4}"/>'
    legend = "".join(f'<span class="rank{index % 6}">{escape(name)}</span>' for index, name in enumerate(names))
    legend = f"<p class=ranks>{legend}</p>" if len(names) > 1 else ""
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">{axis}{marks}{drawn}</svg>{legend}</figure>'
    )


def _path(line: Line, count: int, least: float, room: float) -> str:
    """The way of a line; where a value is missing or not finite it is interrupted."""
    parts, pen = [], "M"
    for index, value in enumerate(line):
        if value is None or not math.isfinite(value):
            pen = "M"
            continue
        x = LEFT + (WIDTH - LEFT - 8) * index / (count - 1)
        y = (HEIGHT - BELOW - 4) - (HEIGHT - BELOW - 14) * (value - least) / room
        parts.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    return "".join(parts)
