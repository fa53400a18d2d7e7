"""The facts of a run that was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gclint.rehearse.record import Event, Recording, place_of
from tests.knowledge.facts import Observed, Place

VALUES = {
    "optimizer": ("name",),
    "forward": ("training",),
    "loader": ("shuffled", "last"),
    "clip": ("limit",),
    "load": ("strict",),
    "loss": ("name",),
}
"""Of each kind of recorded event, the values that are held to the derived ones. Sizes of batches and counts of workers
are not among them: a rehearsal makes them small."""


def observed(recording: Recording) -> list[Observed]:
    """What rank 0 was seen to do: each event once for each line, with all values that it had there.

    A loss that is computed at the line that calls a model is computed inside a library's model.
    """
    found: dict[tuple[str, Place], Observed] = {}
    for event, place, values in _happened(recording):
        fact = found.setdefault((event, place), Observed(event, place))
        for name, value in values.items():
            fact.values.setdefault(name, set()).add(value)
    return [fact for fact in found.values() if fact.event != "loss" or ("forward", fact.place) not in found]


def _happened(recording: Recording) -> Iterator[tuple[str, Place, dict[str, Any]]]:
    for event in recording.first.events:
        place = place_of(event)
        kind = event["kind"]
        if place is not None and kind in ("step", "backward", "zeroed", "save", "read", *VALUES):
            yield kind, place, {name: event[name] for name in VALUES.get(kind, ()) if event.get(name) is not None}
    for each in recording.first.end.get("schedulers", ()):
        yield from _scheduled(each)


def _scheduled(told: Event) -> Iterator[tuple[str, Place, dict[str, Any]]]:
    if told["made"]:
        yield "scheduler", (told["made"][0], told["made"][1]), {"name": told["name"]}
    if told["stepped"]:
        yield "schedule step", (told["stepped"][0], told["stepped"][1]), {}
