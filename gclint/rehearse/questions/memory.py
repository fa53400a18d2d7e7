"""Does anything of a step outlive it, and grow?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gclint.rehearse.record import Recording
from gclint.rehearse.seen import Seen, place

LEAST = 6


def ask(run: Recording) -> Iterator[Seen]:
    """Look at the graph nodes that live after each step of rank 0."""
    looks = run.first.of("graph")
    counts = [each["nodes"] for each in looks][1:]
    if len(counts) < LEAST or not all(one < other for one, other in pairwise(counts)):
        return
    holder = next((each["holder"] for each in reversed(looks) if each["holder"]), None)
    name = f"`{holder['name']}`" if holder else "something"
    where = (holder["file"], holder["first"]) if holder else place(run.first.steps[-1]["at"])
    yield Seen(
        "GCS801",
        "graph-kept",
        f"{name} keeps the graph of every step alive",
        where,
        f"{counts[0]} graph nodes after step 2, {counts[-1]} after step {len(counts) + 1}; memory grows with them",
        "keep loss.item() or loss.detach() in place of the loss",
    )
