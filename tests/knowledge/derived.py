"""The facts of a run that is derived: what the analysis says of the program when it is started so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gclint.check.program import analyse
from gclint.finding import Finding
from gclint.frameworks.torch_states import mode, training
from gclint.launch import Launch
from gclint.rule import Rule
from gclint.run import events as ev
from gclint.run.guards import Guard, complement, either
from gclint.run.recorded import KINDS, kind_of, loader_of
from gclint.run.run import Run
from gclint.run.values import FALSE, NOTHING, Const, Object, Value, const, root, union
from gclint.source.source import read
from tests.knowledge.facts import Derived

RANDOM = ("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler")


def derived(launch: Launch, root_of_project: Path) -> list[Derived]:
    """What the analysis derives of a program that is started so, its project below a directory."""
    found: list[tuple[Derived, Guard, Run]] = []
    rule = Rule(code="KNW001", name="facts", docs="", words=())

    def asked(event: ev.Event, run: Run) -> Iterator[Finding]:
        found.extend((each, event.guard, run) for each in _facts(event, run, root_of_project))
        return iter(())

    rule.on(*KINDS, ev.Iterated, ev.LibraryCall)(asked)
    sources = [read(path, str(path), "python") for path in sorted(root_of_project.rglob("*.py"))]
    analyse(sources, root_of_project, {}, [rule], keep_runs=True, launch=launch)
    return [replace(each, sure=each.sure or _is_sure(each, run, found)) for each, _, run in found]


def _is_sure(fact: Derived, run: Run, found: list[tuple[Derived, Guard, Run]]) -> bool:
    """Whether a fact comes in every case, here or there in the run: with a GPU, say, and without one."""
    ways = [guard for each, guard, of in found if of is run and each == fact]
    return len(set(ways)) > 1 and not str(run.condition(either(ways)))


def _facts(event: ev.Event, run: Run, project: Path) -> Iterator[Derived]:
    name = kind_of(event)
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
    model = root(event.model)
    told = mode(model) or (event.call and training(event.call.it, model, "training", event.site.node))
    return {"training": told or NOTHING}


def _loader(event: ev.Event) -> dict[str, Value]:
    held = loader_of(event)
    assert held is not None
    given = held.attributes
    return {"shuffled": _shuffled(given), "last": _or_not(given.get("drop_last", NOTHING))}


def _shuffled(given: dict[str, Value]) -> Value:
    """Whether the rows come in another order each time: the sampler says so where one is given."""
    sampler = given.get("sampler", NOTHING).only()
    if sampler is None or sampler == Const(None):
        return _or_not(given.get("shuffle", NOTHING))
    if isinstance(sampler, Object) and sampler.is_a(*RANDOM, "SequentialSampler"):
        return const(sampler.is_a(*RANDOM))
    return sampler.attributes.get("shuffle", NOTHING) if isinstance(sampler, Object) else NOTHING


def _or_not(given: Value) -> Value:
    """What is given, and False where nothing is."""
    return union([given, FALSE.under(complement(either(guard for guard, _ in given)))])


def _clip(event: ev.GradientsClipped) -> dict[str, Value]:
    return {"limit": event.call.get("max_norm", 1) if event.call is not None else NOTHING}


def _load(event: ev.StateDictLoaded) -> dict[str, Value]:
    return {"strict": event.strict}


def _loss(event: ev.LossComputed) -> dict[str, Value]:
    return {"name": const(event.name)}


def _scheduler(event: ev.LibraryCall) -> dict[str, Value]:
    last = event.name.rsplit(".", 1)[-1]
    return {"name": const("LambdaLR" if last.islower() else last)}  # transformers/optimization.py makes LambdaLR


VALUES: dict[str, Callable[[Any], dict[str, Value]]] = {
    "optimizer": _optimizer,
    "forward": _forward,
    "loader": _loader,
    "clip": _clip,
    "load": _load,
    "loss": _loss,
    "scheduler": _scheduler,
}
