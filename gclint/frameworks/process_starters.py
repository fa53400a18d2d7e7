"""Programs that start their own processes: mp.spawn, Process, elastic_launch, accelerate's and detectron2's launchers.

What they start runs on several processes, whatever the launcher of the program itself does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from ..ir.syntax import FORS, Site, dotted
from ..run.calls import Call
from ..run.guards import DISTRIBUTED
from ..run.interpreter import Interpreter
from ..run.ranks import number_of_process
from ..run.run import PROCESSES, SEVERAL
from ..run.values import NONE, NOTHING, Const, External, Object, Value, const, of
from .registry import Framework

framework = Framework("process starters")

FRESH = "fresh processes"
"""The fact that holds the places at which new interpreters are started, which run the program's file again under
another name (torch/multiprocessing/spawn.py starts them so, accelerate's launchers fork).
"""
EACH_ITS_OWN = "processes with arguments of their own"
"""The fact that holds the places at which processes are started each with what it alone is given."""


@contextmanager
def on_processes(it: Interpreter, several: bool) -> Iterator[None]:
    """Walk what runs in the started processes: how many there are is decided here."""
    it.run.facts[PROCESSES] = several or it.run.facts.get(PROCESSES, False)
    assumed, guard = it.run.assumed, it.guard
    decided = frozenset({(DISTRIBUTED, several)})
    it.run.assumed = frozenset(pair for pair in assumed if pair[0] is not DISTRIBUTED) | decided
    it.guard = frozenset(pair for pair in guard if pair[0] is not DISTRIBUTED) | decided
    try:
        yield
    finally:
        it.run.assumed, it.guard = assumed, guard


def shows_processes(it: Interpreter, site: Site) -> None:
    """The code itself shows, here, that it runs on several processes."""
    it.run.facts.setdefault("process_group", site)
    if not any(atom is DISTRIBUTED for atom, _ in it.guard - it.run.assumed):
        it.run.facts.setdefault(SEVERAL, site)


def _start(call: Call, function: Value, arguments: list[Value], count: Value, *, forked: bool = False) -> None:
    several = count.constant() != 1
    if not forked:
        call.it.run.facts.setdefault(FRESH, set()).add(call.site)
    if several:
        shows_processes(call.it, call.site)
    with on_processes(call.it, several):
        call.it.call(function, Call(call.it, call.site, "started", arguments))


def _items(value: Value) -> list[Value]:
    item = value.only()
    return list(item.items) if isinstance(item, Object) and item.items is not None else []


@framework.function("torch.multiprocessing.spawn", "torch:spawn", "torch:start_processes")
def spawn(call: Call) -> Value:
    """mp.spawn(fn, args=(...), nprocs=n): fn(rank, *args) in each process."""
    arguments = [of(number_of_process(call)), *_items(call.get("args", 1))]
    _start(call, call.get("fn", 0), arguments, call.get("nprocs", 2, const(1)))
    return NONE


@framework.function("detectron2:launch")
def launch(call: Call) -> Value:
    """launch(main_func, num_gpus_per_machine, ..., args=()): main_func(*args) in each process (engine/launch.py)."""
    machines = call.get("num_machines", 2, const(1))
    count = call.get("num_gpus_per_machine", 1) if machines.constant() == 1 else NOTHING
    _start(call, call.get("main_func", 0), _items(call.get("args", 5)), count)
    return NONE


@framework.function("torch:get_context", "multiprocessing:get_context")
def get_context(call: Call) -> Value:
    """get_context("spawn"): the names of multiprocessing."""
    return of(External("multiprocessing"))


@framework.function("torch:Process", "multiprocessing:Process")
def process(call: Call) -> Value:
    """Process(group, target, name, args, kwargs): a process that runs target(*args, **kwargs) once it is started."""
    made = call.make("process", call.name)
    made.attributes["target"] = call.get("target", 1)
    made.attributes["args"] = call.get("args", 3)
    made.state["open"] = const(call.gives("kwargs", 4))
    return of(made)


@framework.method("process", "start")
def start_process(call: Call) -> Value:
    """The process runs; one that is started in a loop is one of several, unless the loop has a single round."""
    assert call.receiver is not None
    it, held = call.it, call.receiver.attributes
    started = Call(it, call.site, "started", _items(held["args"]), open=bool(call.receiver.known("open").constant()))
    loop = next((each.node for each in reversed(it.loops) if isinstance(each.node, FORS)), None)
    if loop is None:
        it.call(held["target"], started)
        return NONE
    several = _rounds(it, loop.iter).constant() != 1
    if several:
        shows_processes(it, call.site)
        it.run.facts.setdefault(EACH_ITS_OWN, set()).add(call.site)
    with on_processes(it, several):
        it.call(held["target"], started)
    return NONE


def _rounds(it: Interpreter, over: ast.expr) -> Value:
    """How often a loop over `range(n)` goes round; nothing known for any other."""
    if not isinstance(over, ast.Call) or dotted(over.func) != "range" or len(over.args) != 1:
        return NOTHING
    return it.evaluate(over.args[0])


@framework.function("accelerate:notebook_launcher", "accelerate:debug_launcher")
def notebook_launcher(call: Call) -> Value:
    """notebook_launcher(fn, args, num_processes): fn(*args) in each process; debug_launcher takes two by default."""
    default = const(2) if call.last == "debug_launcher" else NONE
    count = call.get("num_processes", 2, default)
    _start(call, call.get("function", 0), _items(call.get("args", 1)), count, forked=True)
    return NONE


@framework.function("torch:elastic_launch")
def elastic_launch(call: Call) -> Value:
    """elastic_launch(config, fn): called, it starts fn with the same arguments in each process."""
    made = call.make("elastic_launch", call.name)
    made.attributes["entrypoint"] = call.get("entrypoint", 1)
    configs = call.get("config", 0).objects()
    made.attributes["count"] = configs[0].attributes.get("nproc_per_node", NOTHING) if configs else NOTHING
    return of(made)


@framework.function("torch:LaunchConfig")
def launch_config(call: Call) -> Value:
    """How many processes elastic_launch starts."""
    made = call.make("launch_config", call.name)
    made.attributes["nproc_per_node"] = call.get("nproc_per_node", 2)
    nodes = call.get("max_nodes", 1)
    if nodes and nodes.only() != Const(1):
        made.attributes["nproc_per_node"] = nodes
    return of(made)


@framework.calling("elastic_launch")
def call_elastic_launch(call: Call) -> Value | None:
    """The processes start."""
    assert call.receiver is not None
    held = call.receiver.attributes
    _start(call, held["entrypoint"], list(call.positional), held["count"])
    return NONE
