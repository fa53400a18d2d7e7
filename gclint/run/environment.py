"""The environment of the process: what its variables hold, as far as the launch and the code show it.

Where the launch tells the whole environment, a variable that it leaves out is not set until somebody sets it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..ir.syntax import Site
from .events import EnvRead, EnvSet
from .guards import DISTRIBUTED, Guard, conj, either
from .jumps import leave_under
from .pages import place_of, placed
from .run import untold
from .values import MISSING, NOTHING, Const, External, Value, assigned, of, replaced
from .variables import variable

if TYPE_CHECKING:
    from .calls import Call
    from .interpreter import Interpreter

_NUMBERS = {
    "WORLD_SIZE": "world_size",
    "LOCAL_RANK": "local_rank",
    "RANK": "local_rank",
    "SLURM_NTASKS": "world_size",
    "SLURM_PROCID": "local_rank",
}
_ONLY_OF_SEVERAL = ("LOCAL_RANK", "RANK", "WORLD_SIZE")
_ONLY_READ = frozenset({"builtins", "copy", "json", "logging", "os", "pprint", "subprocess"})
DEVICES = "CUDA_VISIBLE_DEVICES"
OR_DEFAULT = "or_default"
"""What is taken of a variable that nobody knows where it is not set."""
_LEFT_TO_THE_SHELL = ("$", "`")


def read(it: Interpreter, name: str, default: Value, site: Site) -> Value:
    """The value of a variable, the default where it is not set."""
    it.emit(EnvRead(it.moment(site=site), name))
    held = _held(it, name)
    if name in _NUMBERS and held is None:
        return number(it, name, site)
    if held is not None:
        return replaced(held, default)
    made = it.unknown(spelled(name), site)
    if any(item != Const(None) for _, item in default):
        made.state[OR_DEFAULT] = default
    return of(made)


def spelled(name: str) -> str:
    """What a variable is called where nobody knows what it holds."""
    return f'os.environ["{name}"]'


def demand(it: Interpreter, name: str, site: Site) -> Value:
    """The value of a variable that has to be set: where it is not, KeyError is raised."""
    held = _held(it, name)
    unset = held.where(lambda item: item is MISSING) if held is not None else []
    if unset:
        leave_under(it, either(unset), of(External("builtins.KeyError")), unsaid=False)
    return NOTHING if held is not None and len(unset) == len(held.alternatives) else read(it, name, NOTHING, site)


def number(it: Interpreter, name: str, site: Site) -> Value:
    """How many processes there are, or which of them this one is, by the variable that tells it."""
    made = it.run.facts.get(f"env:{name}")
    if made is None:
        made = it.run.facts[f"env:{name}"] = it.new(_NUMBERS[name], "", name, site)
    return of(made)


def membership(it: Interpreter, name: str) -> list[tuple[Guard, bool]] | None:
    """Whether a variable is set, under which guards; None where nobody knows."""
    held = _held(it, name)
    if name in _ONLY_OF_SEVERAL and (held is None or it.run.absent is untold):
        return [(frozenset({(DISTRIBUTED, truth)}), truth) for truth in (True, False)]
    return None if held is None else [(guard, item is not MISSING) for guard, item in held]


def put(it: Interpreter, name: str, value: Value, node: ast.AST) -> None:
    """A variable is set."""
    _keep(it, name, value, node)
    if name == DEVICES and it.guard == it.run.assumed and str(value.constant()).isdecimal():
        _alone(it)
    it.emit(EnvSet(it.moment(node), name, value, bool(it.filling)))


def _alone(it: Interpreter) -> None:
    """The program takes one device, always the same: unless a launcher is known, it is not one of several processes, of
    which the second would find no device.
    """
    if all(atom is not DISTRIBUTED for atom, _ in it.run.assumed):
        leave_under(it, frozenset({(DISTRIBUTED, True)}), of(External("builtins.RuntimeError")), unsaid=False)
        it.run.assumed |= {(DISTRIBUTED, False)}


def put_default(it: Interpreter, name: str, value: Value, node: ast.AST) -> Value:
    """A variable is set where it is not set yet; returns what it holds then."""
    held = _held(it, name)
    if held is None:
        put(it, name, value, node)
    elif any(item is MISSING for _, item in held):
        put(it, name, replaced(held, value), node)
    elif conj(it.guard, held.alternatives[0][0]) is None:
        put(it, name, value, node)
    return it.run.environment[name]


def remove(it: Interpreter, name: str, node: ast.AST) -> None:
    """A variable is unset."""
    _keep(it, name, of(MISSING), node)


def forget(it: Interpreter) -> None:
    """Something may have set any variable."""
    if it.run.absent is not untold:
        it.run.environment.clear()
        it.run.absent = untold


def handed_over(call: Call) -> bool:
    """Whether a call hands the environment itself to a library, which may set anything in it."""
    given = (item for value in (*call.positional, *call.keywords.values()) for _, item in value)
    return call.name.partition(".")[0] not in _ONLY_READ and External("os.environ") in given


def _keep(it: Interpreter, name: str, value: Value, node: ast.AST) -> None:
    it.run.environment[name] = assigned(it.guard - it.run.assumed, value, _held(it, name))
    it.run.environment_sites[name] = it.site(node)


def _held(it: Interpreter, name: str) -> Value | None:
    """What a variable holds, `MISSING` where it is not set; None where nobody knows."""
    held = it.run.environment.get(name)
    if held is None:
        sure = it.run.absent(name) and not it.library.may_set(it.run.imported, name)
        return of(MISSING) if sure else None
    text = held.constant() if name not in it.run.environment_sites else None
    if isinstance(text, str) and any(mark in text for mark in _LEFT_TO_THE_SHELL):
        held = it.run.environment[name] = of(it.unknown(spelled(name)))
    elif isinstance(text, str) and place_of(held) is None:
        held = it.run.environment[name] = placed(held, variable(it, name))
    return held
