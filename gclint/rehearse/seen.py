"""What a question has to say: what was seen in a run, where, in numbers, and what helps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gclint.rehearse.record import Place

SHOWN = 4


@dataclass(frozen=True)
class Seen:
    """One thing that is wrong with a run.

    `message` says what happens, `place` where in the user's code it is to be mended (None: nowhere in particular),
    `effect` what it does to the training, in numbers, `help` how to mend it, `related` the other lines that take part.
    """

    code: str
    name: str
    message: str
    place: Place | None
    effect: str
    help: str
    related: tuple[tuple[Place, str], ...] = ()


def listed(names: Iterable[str]) -> str:
    """A few names, and how many more there are."""
    found = list(dict.fromkeys(name for name in names if name))
    more = len(found) - SHOWN
    return ", ".join(found[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def named(parameters: Sequence[dict[str, Any]]) -> str:
    """The names of parameters."""
    return listed(each["name"] or f"a parameter of shape {tuple(each['shape'])}" for each in parameters)


def place(at: Any) -> Place | None:
    """A place as the record has it."""
    return (str(at[0]), int(at[1])) if at else None


def share(part: float, whole: float) -> str:
    """A part of a whole in percent."""
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def beside(at: Any, text: str) -> tuple[tuple[Place, str], ...]:
    """Another line that takes part, where it is known."""
    found = place(at)
    return ((found, text),) if found else ()
