"""sacred: an experiment runs a function, and fills in what nobody gives it (sacred/experiment.py, ingredient.py)."""

from __future__ import annotations

from ..run.calls import Call
from ..run.definitions import once_bound
from ..run.values import NOTHING, Value, of, union
from .registry import Framework

framework = Framework("sacred", kinds={"experiment": "unknown"})

MAIN = "main function"


@framework.function("sacred:Experiment")
def make_experiment(call: Call) -> Value:
    """What runs a function that it is given."""
    return of(call.make("experiment", call.name))


@framework.method("experiment", "main", "automain")
@framework.decorator("experiment.main", "experiment.automain")
def keep(call: Call) -> Value:
    """`@ex.main`: what the experiment runs; `@ex.automain` runs it at once in the file that is started."""
    function, experiment = call.get("function", 0), call.receiver
    if experiment is not None:
        experiment.state[MAIN] = function
        if call.last == "automain" and call.site.module is call.run.entry and call.run.is_program:
            once_bound(call.it, lambda: _run(call, function))
    return function


@framework.method("experiment", "run", "run_commandline")
def run(call: Call) -> Value:
    """The function, whose arguments a configuration has that nobody knows."""
    held = call.receiver.state.get(MAIN, NOTHING) if call.receiver is not None else NOTHING
    _run(call, held)
    return call.unknown()


def _run(call: Call, function: Value) -> Value:
    made = (Call(call.it, call.site, call.name, open=True) for _ in function)
    return union(call.it.call(of(item), each).under(guard) for (guard, item), each in zip(function, made, strict=True))
