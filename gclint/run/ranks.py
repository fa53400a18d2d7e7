"""Which process this one is: the numbers that tell it, and the conditions that only one process meets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .events import LibraryCall
from .guards import Guard
from .run import Run
from .values import NOTHING, Object

if TYPE_CHECKING:
    from .calls import Call

NUMBERS = "numbers of processes"
"""The fact that holds the objects that are a process's number, different on each."""
VARIABLES = ("RANK", "LOCAL_RANK", "SLURM_PROCID")
KEEPERS = ("accelerator", "partial_state", "fabric")
GIVEN = {"torch.distributed.init_process_group": ("rank", 4), "torch.cuda.set_device": ("device", 0)}
"""What takes the process's number, and by which argument."""
FLAGS = ("is_main_process", "is_local_main_process", "is_last_process", "is_global_zero")


def number_of_process(call: Call) -> Object:
    """This process's number."""
    made = call.it.unknown("rank", call.site)
    call.run.facts.setdefault(NUMBERS, []).append(made)
    return made


def of_one_process(guard: Guard, run: Run) -> tuple[Guard, list[Object]]:
    """The conditions of a guard that only one of the processes meets, and what they are about; none where all may."""
    own = {f"#{each.id}": each for each in numbers(run)}
    flags = {f"#{each.id}": each for each in _flags(run)}
    found = {
        (atom, truth): (own.get(atom.subject) or flags.get(atom.key)) if truth else own.get(atom.key)
        for atom, truth in guard
    }
    met = {pair: item for pair, item in found.items() if item is not None}
    return frozenset(met), list(dict.fromkeys(met.values()))


def numbers(run: Run) -> set[Object]:
    """All that is this process's number: what tells it, what it joins the others by, and the device that it takes."""
    return {
        *run.facts.get(NUMBERS, ()),
        *(run.facts[f"env:{name}"] for name in VARIABLES if f"env:{name}" in run.facts),
        *_told(run).given,
    }


def _flags(run: Run) -> Iterator[Object]:
    for keeper in _told(run).keepers:
        for name in FLAGS:
            yield from keeper.attributes[name].objects() if name in keeper.attributes else ()


@dataclass
class _Told:
    """What the calls of a run told, up to an event: what was given as the process's number, what keeps its flags."""

    given: dict[Object, None] = field(default_factory=dict)
    keepers: dict[Object, None] = field(default_factory=dict)
    events: int = 0


def _told(run: Run) -> _Told:
    """What all calls so far told; each is looked at once."""
    told: _Told = run.facts.setdefault("calls that tell of processes", _Told())
    for each in run.of_type(LibraryCall, start=told.events):
        if each.name in GIVEN and each.call is not None:
            told.given.update(dict.fromkeys(each.call.given(*GIVEN[each.name], NOTHING).objects()))
        told.keepers.update((item, None) for item in each.result.objects() if item.kind in KEEPERS)
    told.events = len(run.events)
    return told
