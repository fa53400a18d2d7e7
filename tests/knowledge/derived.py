"""The facts of a run that is derived: what the analysis says of the program when it is started so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gclint.check.program import analyse
from gclint.finding import Finding
from gclint.frameworks.torch_states import training
from gclint.launch import Launch
from gclint.rule import Rule
from gclint.run import events as ev
from gclint.run.guards import Guard
from gclint.run.run import Run
from gclint.run.values import NOTHING, Const, Object, Value, const, root
from gclint.source.source import read
from tests.knowledge.facts import Derived

TAKEN = {
    ev.OptimizerBuilt: "optimizer",
    ev.OptimizerStep: "step",
    ev.Backward: "backward",
    ev.GradientsCleared: "zeroed",
    ev.GradientsClipped: "clip",
    ev.Forward: "forward",
    ev.LossComputed: "loss",
    ev.StateDictLoaded: "load",
    ev.TrainerStarted: "trainer",
}
CALLED = {"torch.save": "save", "torch.load": "read", "schedule.step": "schedule step"}


def derived(launch: Launch, root_of_project: Path) -> list[Derived]:
    """What the analysis derives of a program that is started so, its project below a directory."""
    found: list[Derived] = []
    rule = Rule(code="KNW001", name="facts", docs="", words=())

    def asked(event: ev.Event, run: Run) -> Iterator[Finding]:
        found.extend(_facts(event, run, root_of_project))
        return iter(())

    rule.on(*TAKEN, ev.Iterated, ev.LibraryCall)(asked)
    sources = [read(path, str(path), "python") for path in sorted(root_of_project.rglob("*.py"))]
    analyse(sources, root_of_project, {}, [rule], keep_runs=True, launch=launch)
    return found


def _facts(event: ev.Event, run: Run, project: Path) -> Iterator[Derived]:
    name = TAKEN.get(type(event), "")
    if isinstance(event, ev.Iterated) and event.item.kind == "loader":
        name = "loader"
    elif isinstance(event, ev.LibraryCall):
        name = CALLED.get(event.name, "")
        made = event.result.only()
        if not name and isinstance(made, Object) and made.kind == "schedule" and made.site == event.site:
            name = "scheduler"
    if not name:
        return
    node = event.site.node
    path = os.path.realpath(event.site.location().path)
    place = os.path.relpath(path, project), getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
    given = VALUES.get(name, _nothing)(event)
    values = {each: _constants(value, event.guard) for each, value in given.items()}
    yield Derived(name, place, not str(run.condition(event.guard)), values, all_of_it=name == "trainer")


def _constants(value: Value, guard: Guard) -> set[Any] | None:
    """All that a value may be at a moment; None where one of it is not known."""
    items = [item for _, item in value.possible(guard)]
    return {item.value for item in items if isinstance(item, Const)} if _are_known(items) else None


def _are_known(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, Const) for item in items)


def _nothing(event: Any) -> dict[str, Value]:
    return {}


def _optimizer(event: ev.OptimizerBuilt) -> dict[str, Value]:
    made = event.optimizer.type
    return {"name": const(made.rsplit(".", 1)[-1]) if isinstance(made, str) else NOTHING}


def _forward(event: ev.Forward) -> dict[str, Value]:
    told = event.call and training(event.call.it, root(event.model), "training", event.site.node)
    return {"training": told or NOTHING}


def _loader(event: ev.Iterated) -> dict[str, Value]:
    given = event.item.attributes
    names = {"shuffle": "shuffled", "batch_size": "batch_size", "num_workers": "workers", "drop_last": "last"}
    return {seen: given[name] for name, seen in names.items() if name in given}


def _clip(event: ev.GradientsClipped) -> dict[str, Value]:
    return {"limit": event.call.get("max_norm", 1) if event.call is not None else NOTHING}


def _load(event: ev.StateDictLoaded) -> dict[str, Value]:
    return {"strict": event.strict}


def _loss(event: ev.LossComputed) -> dict[str, Value]:
    return {"name": const(event.name)}


def _scheduler(event: ev.LibraryCall) -> dict[str, Value]:
    return {"name": const(event.name.rsplit(".", 1)[-1])}


VALUES: dict[str, Callable[[Any], dict[str, Value]]] = {
    "optimizer": _optimizer,
    "forward": _forward,
    "loader": _loader,
    "clip": _clip,
    "load": _load,
    "loss": _loss,
    "scheduler": _scheduler,
}
