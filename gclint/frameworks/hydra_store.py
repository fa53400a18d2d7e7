"""hydra's ConfigStore: configurations written in Python, as dataclasses or as dicts, and stored under a name.

What a stored configuration holds is made plain, so that it is composed as files are (hydra/core/config_store.py,
1.3.8); a value that the code leaves open stays the abstract value that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..run import names
from ..run.calls import Call
from ..run.hydra_configs import MANDATORY, Stored, is_mandatory
from ..run.interpreter import Interpreter
from ..run.pages import Mapping
from ..run.values import NONE, Class, Const, Object, Value, const, of
from .arguments import unknown_option
from .registry import Framework

MAX_DEPTH = 12

framework = Framework("hydra store", kinds={"config_store": "unknown"})


@framework.constant("omegaconf.MISSING")
def missing(it: Interpreter) -> Value:
    """A value that a group's option or the command line has to give (omegaconf/_impl.py)."""
    return const(MANDATORY)


@framework.function("hydra.core.config_store.ConfigStore.instance", "hydra.core.config_store.ConfigStoreWithProvider")
def instance(call: Call) -> Value:
    """The one store of the program."""
    return of(call.it.new("config_store", call.name, "", call.site))


@framework.method("config_store", "store")
def store(call: Call) -> Value:
    """A configuration under a name, in a group; configurations that were asked for are put together again."""
    name, group = names.const_text(call.get("name", 0)), names.const_text(call.get("group", 2, NONE))
    known = group is not None or call.get("group", 2, NONE).only() == Const(None)
    held = settings(call, call.get("node", 1))
    if name is None or not known or not isinstance(held, dict):
        return NONE
    key = f"{group}/{name}" if group else name
    package = names.const_text(call.get("package", 3, NONE)) or ""
    stored(call)[key.removesuffix(".yaml")] = Stored(held, package)
    for again in asked(call):
        again()
    return NONE


def stored(call: Call) -> dict[str, Stored]:
    """The configurations stored so far, by `group/name`."""
    held: dict[str, Stored] = call.run.facts.setdefault("hydra_stored", {})
    return held


def asked(call: Call) -> list[Callable[[], None]]:
    """What puts together again each configuration that a function was given."""
    held: list[Callable[[], None]] = call.run.facts.setdefault("hydra_asked", [])
    return held


def settings(call: Call, node: Value) -> Any:
    """The fields of a dataclass, of an object of one, or the entries of a dict, as plain data."""
    if isinstance(node.only(), Class):
        node = call.it.call(node, Call(call.it, call.site, "structured"))
    return _plain(node, 0)


def _plain(value: Value, depth: int) -> Any:
    item = value.only()
    if isinstance(item, Const):
        return item.value
    if not isinstance(item, Object) or item.open or depth > MAX_DEPTH:
        return value
    if item.entries is not None:
        return {key: _plain(each, depth + 1) for key, each in item.entries.items()}
    if item.items is not None and not item.each:
        return [_plain(each, depth + 1) for each in item.items]
    if isinstance(item.type, Class):
        return {name: _plain(each, depth + 1) for name, each in item.attributes.items()}
    return value


def awaited(call: Call, data: Any, name: str = "cfg") -> Any:
    """The data with what is still to be given as something unknown."""
    if isinstance(data, dict):
        items = {key: awaited(call, value, str(key)) for key, value in data.items()}
        return Mapping(items, getattr(data, "site", None), getattr(data, "sites", {}))
    return of(unknown_option(call.it, name, call)) if is_mandatory(data) else data
