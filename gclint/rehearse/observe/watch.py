"""What all watchers of a process share: where they write, how far the run is, and the numbers of things."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch.utils.weak import WeakIdKeyDictionary

from gclint.rehearse.observe.evaluations import Evaluations
from gclint.rehearse.observe.patches import Patches
from gclint.rehearse.observe.places import Places

MOST_PARAMETERS = 4000


class Writer(Protocol):
    """Takes events."""

    def write(self, event: dict[str, Any]) -> None:
        """Take one event."""

    def keep(self, data: bytes) -> None:
        """Take a file that the run has saved."""


@dataclass(eq=False)
class Known:
    """A parameter and what happened to it: in how many steps it had a gradient, was compared with what it was before,
    and moved.
    """

    number: int
    parameter: Any
    gradients: int = 0
    nonzero: int = 0
    compared: int = 0
    moves: int = 0
    steps: int = 0
    moving_rates: int = 0
    optimizers: set[int] = field(default_factory=set)
    later: bool = False
    loaded: bool = False
    broken: bool = False


class Watch:
    """The state of the looking in one process; `closely` where the run is there for nothing else."""

    def __init__(self, sheet: Writer, places: Places, closely: bool = False):
        self.sheet, self.places, self.patches, self.closely = sheet, places, Patches(), closely
        self.step = 0
        self.stepping = self.in_backward = False
        self.roots: list[Any] = []
        self.batch: tuple[int, int, int] | None = None
        self.optimizers: list[Any] = []
        self.known: dict[int, Known] = {}
        self.made: MutableMapping[Any, tuple[str, int] | None] = WeakIdKeyDictionary()
        self.workers: MutableMapping[Any, int] = WeakIdKeyDictionary()
        self.evaluations = Evaluations(places)
        self.called: set[int] = set()
        self.alive_at_first_optimizer: set[int] | None = None
        self.scaled = self.sharded = False
        self.half: tuple[str, int] | None = None

    def write(self, kind: str, at: tuple[str, int] | None = None, **said: Any) -> None:
        """Write an event of the step that is being taken."""
        self.sheet.write({"kind": kind, "at": at, "step": self.step, **said})

    def know(self, parameter: Any) -> Known | None:
        """What is known of a parameter, which it is from now on; None where there are too many, and for a tensor that
        stands in a parameter's place for one call (torch.func.functional_call).
        """
        found = self.known.get(id(parameter))
        if found is None and parameter.is_leaf and len(self.known) < MOST_PARAMETERS:
            found = self.known[id(parameter)] = Known(len(self.known), parameter)
            if self.alive_at_first_optimizer is not None:
                found.later = id(parameter) not in self.alive_at_first_optimizer
        return found

    def number_of(self, things: list[Any], thing: Any) -> int:
        """The index of a thing in a list by identity; it is added where it is new."""
        for index, each in enumerate(things):
            if each is thing:
                return index
        things.append(thing)
        return len(things) - 1
