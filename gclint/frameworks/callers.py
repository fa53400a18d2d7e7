"""Functions of libraries that call what they are given: retry, wandb's and ray's sweeps, optuna, submitit.

How often they do is theirs, and one call stands for all: retry 0.9.2 (api.py, `retry_call`), wandb 0.31.0
(wandb_agent.py, `agent`), optuna 5.0.0 (study/study.py, `optimize`), ray 2.60.0 (tune/tune.py, `run`; tune/tuner.py,
`fit`), submitit 1.5.4 (core/core.py, `submit`).
"""

from __future__ import annotations

from ..run import elements
from ..run.calls import Call
from ..run.values import NONE, Const, Object, Value, of
from .registry import Framework

framework = Framework("callers", kinds={"study": "unknown", "submitter": "unknown", "tuner": "unknown"})


def _called(
    call: Call, function: Value, given: list[Value], named: dict[str, Value] | None = None, *, more: bool = False
) -> Value:
    """What a function gives; with `more` it is called with arguments that nobody knows besides."""
    return call.it.call(function, Call(call.it, call.site, "called", given, named or {}, more or call.open))


@framework.function("retry:retry_call")
def retried(call: Call) -> Value:
    """retry_call(f, fargs, fkwargs): f, once more after each exception."""
    listed, mapping = call.get("fargs", 1, NONE).only(), call.get("fkwargs", 2, NONE).only()
    items = listed.items if isinstance(listed, Object) and elements.is_counted(listed) else None
    entries = mapping.entries if isinstance(mapping, Object) and not mapping.open else None
    more = (items is None and listed != Const(None)) or (entries is None and mapping != Const(None))
    named = {str(key): held for key, held in (entries or {}).items()}
    return _called(call, call.get("f", 0), list(items or []), named, more=more)


@framework.function("wandb:agent")
def of_a_sweep(call: Call) -> Value:
    """wandb.agent(sweep_id, function): the function for each run of a sweep, without arguments."""
    if call.gives("function", 1):
        _called(call, call.get("function", 1), [])
    return NONE


@framework.function("optuna:create_study", "optuna:load_study")
def make_study(call: Call) -> Value:
    """A study, which tries an objective."""
    return of(call.make("study", call.name))


@framework.method("study", "optimize")
def optimize(call: Call) -> Value:
    """study.optimize(func, ...): func(trial) for each trial."""
    _called(call, call.get("func", 0), [call.unknown()])
    return NONE


@framework.function("ray.tune.run")
def run_trials(call: Call) -> Value:
    """tune.run(trainable, config=...): trainable(config) for each trial, with a choice for each setting."""
    _called(call, call.get("run_or_experiment", 0), [call.unknown()])
    return call.unknown()


@framework.function("ray.tune.Tuner")
def make_tuner(call: Call) -> Value:
    """A tuner of a trainable."""
    made = call.make("tuner", call.name)
    made.attributes["trainable"] = call.get("trainable", 0)
    return of(made)


@framework.method("tuner", "fit")
def fit_trials(call: Call) -> Value:
    """tuner.fit(): trainable(config) for each trial."""
    assert call.receiver is not None
    _called(call, call.receiver.attributes["trainable"], [call.unknown()])
    return call.unknown()


@framework.function("submitit:AutoExecutor", "submitit:SlurmExecutor", "submitit:LocalExecutor")
def make_executor(call: Call) -> Value:
    """What submits functions as jobs."""
    return of(call.make("submitter", call.name))


@framework.method("submitter", "submit")
def submit(call: Call) -> Value:
    """executor.submit(fn, *args, **kwargs): fn(*args, **kwargs) in each task of a job."""
    named = {name: value for name, value in call.keywords.items() if name != "fn"}
    _called(call, call.get("fn", 0), call.positional[1:], named)
    return call.unknown()
