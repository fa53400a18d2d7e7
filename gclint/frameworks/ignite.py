"""PyTorch-Ignite: an engine calls a function of the project with each batch, and handlers around it.

`run` goes through the epochs and in each of them through the data; a handler gets the engine and what it was added
with (ignite/engine/engine.py of 0.5.5). The trainers that the library makes itself take a whole step and set training
mode in each; its evaluators set evaluation mode, and leave it (ignite/engine/__init__.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..run import elements, names
from ..run.calls import Call
from ..run.events import Loop
from ..run.interpreter import Interpreter
from ..run.values import NONE, External, Object, Value, of
from .registry import Framework
from .torch_training import emit_backward

framework = Framework("ignite", imports={"ignite": ("torch",)})

HANDLERS = "handlers of ignite"
BEFORE, EACH, AFTER = "_STARTED", "ITERATION_COMPLETED", "EPOCH_COMPLETED"
"""How the names of events end that come before a round, and those after a batch and after an epoch."""


class _Handler(NamedTuple):
    """What is called at an event of an engine, and with what besides the engine."""

    event: str
    function: Value
    given: list[Value]


@framework.function("ignite:Engine")
def make_engine(call: Call) -> Value:
    """An engine for a function that takes the engine and a batch."""
    made = call.make("ignite_engine", call.name)
    made.attributes["process"] = call.get("process_function", 0)
    return of(made)


@framework.function("ignite:create_supervised_trainer")
def make_trainer(call: Call) -> Value:
    """An engine that takes a step of an optimizer with each batch."""
    made = call.make("ignite_engine", call.name)
    for place, name in enumerate(("model", "optimizer", "loss_fn")):
        made.attributes[name] = call.get(name, place)
    return of(made)


@framework.function("ignite:create_supervised_evaluator")
def make_evaluator(call: Call) -> Value:
    """An engine that evaluates a model."""
    made = call.make("ignite_engine", call.name)
    made.attributes["evaluated"] = call.get("model", 0)
    return of(made)


@framework.method("ignite_engine", "add_event_handler")
def add_handler(call: Call) -> Value:
    """`engine.add_event_handler(event, handler, ...)`."""
    assert call.receiver is not None
    held = call.run.facts.setdefault(HANDLERS, {}).setdefault(call.receiver, [])
    held.append(_Handler(_name(call, call.get("event_name", 0)), call.get("handler", 1), call.positional[2:]))
    return call.unknown()


@framework.method("ignite_engine", "on")
def handler_to_come(call: Call) -> Value:
    """`@engine.on(event)`: what adds the function that it is put on."""
    assert call.receiver is not None
    made = call.make("ignite_on", "on")
    made.parent, made.attributes["event"] = call.receiver, call.get("event_name", 0)
    return of(made)


@framework.calling("ignite_on")
def add_decorated(call: Call) -> Value:
    """The function itself, which is a handler from now on."""
    assert call.receiver is not None and call.receiver.parent is not None
    held = call.run.facts.setdefault(HANDLERS, {}).setdefault(call.receiver.parent, [])
    held.append(_Handler(_name(call, call.receiver.attributes["event"]), call.get("", 0), []))
    return call.get("", 0)


def _name(call: Call, event: Value) -> str:
    """The name of an event, also of one that is asked for every few times."""
    for _, item in event:
        if isinstance(item, External):
            return item.name
        made = call.run.makers.get(item) if isinstance(item, Object) else None
        if made is not None:
            return made.name
    return ""


@framework.method("ignite_engine", "run")
def run_engine(call: Call) -> Value:
    """All epochs: of all of their batches one stands for all."""
    engine, it = call.receiver, call.it
    assert engine is not None
    _handle(call, engine, "Events.STARTED")
    with _round(it, call):
        _handle(call, engine, f"EPOCH{BEFORE}")
        batch = elements.element(it, call.get("data", 0), call.site.node)
        with _round(it, call):
            _handle(call, engine, f"ITERATION{BEFORE}")
            _process(call, engine, batch)
            _handle(call, engine, EACH)
        _handle(call, engine, AFTER)
    _handle(call, engine, "Events.COMPLETED")
    return call.unknown()


@contextmanager
def _round(it: Interpreter, call: Call) -> Iterator[None]:
    it.loops.append(Loop(call.site.node))
    it.vague += 1
    try:
        yield
    finally:
        it.vague -= 1
        it.loops.pop()


def _handle(call: Call, engine: Object, event: str) -> None:
    """Call the handlers of an event, in the order in which they were added."""
    for handler in list(call.run.facts.get(HANDLERS, {}).get(engine, ())):
        if handler.event.endswith(event):
            call.it.call(handler.function, Call(call.it, call.site, "handler", [of(engine), *handler.given]))


def _process(call: Call, engine: Object, batch: Value) -> None:
    """What an engine does with a batch: its function, or the whole of a step."""
    it, held = call.it, engine.attributes
    if "process" in held:
        it.call(held["process"], Call(it, call.site, "process", [of(engine), batch]))
    for model in held.get("evaluated", NONE).objects():
        names.call_method(it, model, "eval", call.site, [])
    if "optimizer" not in held:
        return
    for model in held["model"].objects():
        names.call_method(it, model, "train", call.site, [])
    optimizers = held["optimizer"].objects()
    for optimizer in optimizers:
        names.call_method(it, optimizer, "zero_grad", call.site, [])
    output = it.call(held["model"], Call(it, call.site, "model", [batch]))
    emit_backward(call, it.call(held["loss_fn"], Call(it, call.site, "loss_fn", [output, batch])))
    for optimizer in optimizers:
        names.call_method(it, optimizer, "step", call.site, [])
