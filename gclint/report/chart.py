"""A small chart as SVG: a line for each rank or kind of thing that is counted, and a dashed one for what is planned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, LEFT, BELOW = 360, 150, 52, 22
PLANNED = "planned"
Line = Sequence[tuple[float, float | None]]


def by_step(values: Sequence[float | None]) -> Line:
    """The points of a line that has a value for each step, counted from 1."""
    return list(enumerate(values, 1))


def chart(title: str, names: Sequence[str], lines: Sequence[Line], ends: Sequence[str] = ()) -> str:
    """Return a figure of lines over the steps, of which the first and last may have names at the two `ends`; "" where
    there is nothing to draw.
    """
    known = [value for line in lines for _, value in line if value is not None and math.isfinite(value)]
    last = max((at for line in lines for at, _ in line), default=0.0)
    if not known or last < 2:
        return ""
    least, most = min(known), max(known)
    room = (most - least) or abs(most) or 1.0
    drawn = "".join(
        f'<path class="line {PLANNED if name == PLANNED else f"rank{index % 6}"}" d="{_path(line, last, least, room)}">'
        f"<title>{escape(name)}</title></path>"
        for index, (name, line) in enumerate(zip(names, lines, strict=True))
    )
    marks = (
        f'<text x="{LEFT - 6}" y="14" text-anchor="end">{f"{most:.3g}" if most > least else ""}</text>'
        f'<text x="{LEFT - 6}" y="{HEIGHT - BELOW}" text-anchor="end">{least:.3g}</text>'
        f'<text x="{LEFT}" y="{HEIGHT - 5}">{escape(ends[0]) if ends else 1}</text>'
        f'<text x="{WIDTH - 4}" y="{HEIGHT - 5}" text-anchor="end">{escape(ends[-1]) if ends else f"{last:.0f}"}</text>'
    )
    axis = f'<path class=axis d="M{LEFT} 6V{HEIGHT - BELOW}H{WIDTH - 4}"/>'
    legend = "".join(
        f'<span class="{PLANNED if name == PLANNED else f"rank{index % 6}"}">{escape(name)}</span>'
        for index, name in enumerate(names)
    )
    legend = f"<p class=ranks>{legend}</p>" if len(names) > 1 else ""
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">{axis}{marks}{drawn}</svg>{legend}</figure>'
    )


def _path(line: Line, last: float, least: float, room: float) -> str:
    """The way of a line; where a value is missing or not finite it is interrupted."""
    parts, pen = [], "M"
    for at, value in line:
        if value is None or not math.isfinite(value):
            pen = "M"
            continue
        x = LEFT + (WIDTH - LEFT - 8) * (at - 1) / (last - 1)
        y = (HEIGHT - BELOW - 4) - (HEIGHT - BELOW - 14) * (value - least) / room
        parts.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    return "".join(parts)
