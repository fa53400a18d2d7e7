"""What is known of a program's run that bears on a finding: how many processes, how many bits, how many batches a step.

Only what holds whatever the code leaves open is said, each with the place that tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ..run.values import MISSING, NOTHING, Alternative, Const, Object, Value
from ..source.source import shown

if TYPE_CHECKING:
    from ..ir.syntax import Site
    from ..rule import Bearing
    from ..run.events import Event
    from ..run.run import Run

STEPS = "gradient_accumulation_steps"


def known_of(event: Event, run: Run, bears: Iterable[Bearing]) -> str:
    """What is known of a run at an event, in words, of all that `bears` on a finding; "" where nothing is."""
    return "; ".join(said for each in bears for said in _TOLD[each](event, run))


def processes_of(run: Run) -> Iterator[str]:
    """On how many processes its launcher starts the program that is walked."""
    for launch in run.launch_places if run.is_program else ():
        if launch.world_size is not None and launch.world_size > 1:
            place = f"{shown(str(launch.path))}:{launch.line}"
            yield f"{launch.launcher} starts it on {launch.world_size} processes ({place})"


def bits_of(model: Object, run: Run) -> Iterator[str]:
    """In how many bits a model is loaded, where it is quantised."""
    given = always(model.known("quantization_config"))
    made = run.makers.get(given) if isinstance(given, Object) else None
    config = made.call if made is not None and made.name.endswith(".BitsAndBytesConfig") else None
    for bits in (4, 8):
        name = f"load_in_{bits}bit"
        asked = config.get(name) if config is not None else model.known(name)
        if always(asked) == Const(True):
            yield f"loaded in {bits} bits{at(model.sites.get('quantization_config', model.site))}"


def _processes(event: Event, run: Run) -> Iterator[str]:
    return processes_of(run)


def _bits(event: Event, run: Run) -> Iterator[str]:
    concerned = _models(event) or run.models
    for model in concerned if len(concerned) == 1 else ():
        yield from (f"the model is {said}" for said in bits_of(model, run))


def _accumulation(event: Event, run: Run) -> Iterator[str]:
    trainer = getattr(event, "trainer", None)
    for args in trainer.attributes["args"].objects() if trainer is not None and "args" in trainer.attributes else ():
        rounds = always(args.attributes.get(STEPS, NOTHING))
        if isinstance(rounds, Const) and isinstance(rounds.value, int) and rounds.value > 1:
            yield f"a step gathers the gradients of {rounds.value} batches{at(args.sites.get(STEPS, args.site))}"


_TOLD: dict[Bearing, Callable[[Event, Run], Iterator[str]]] = {
    "processes": _processes,
    "bits": _bits,
    "accumulation": _accumulation,
}


def _models(event: Event) -> list[Object]:
    """The models that an event is about."""
    own = getattr(event, "models", None) or [getattr(event, "model", None)]
    forwards = [inner for item in getattr(event, "forwards", ()) for inner in item.attributes["of"].objects()]
    return list(dict.fromkeys([*filter(None, own), *forwards]))


def always(value: Value) -> Alternative:
    """What a value is, if it is that whatever the code leaves open; else nothing."""
    pairs = value.alternatives
    return pairs[0][1] if len(pairs) == 1 and not pairs[0][0] else MISSING


def place_of(site: Site) -> str:
    """The file and line of a place; of a notebook, whose lines nobody sees, the file."""
    place = site.location()
    path = shown(place.path)
    return path if path.endswith(".ipynb") else f"{path}:{place.line}"


def at(site: Site | None) -> str:
    """The file and line of a place, in brackets."""
    return f" ({place_of(site)})" if site is not None else ""
