"""gin: what its files bind to the parameters of functions and classes that are configurable.

A binding stands for a parameter that a call leaves out, as a default does; `%NAME` is what NAME is bound to, and of
`@name` and scopes nothing is told (gin-config 0.5).
"""

from __future__ import annotations

import ast
import re

from ..run import names
from ..run.calls import Call
from ..run.values import NONE, Alternative, Class, Function, Value, assigned, const, of
from .registry import Framework

BINDING = re.compile(r"^([\w./]*?)(?:\.(\w+))?[ \t]*=[ \t]*(.+?)[ \t]*$", re.MULTILINE)
INCLUDE = re.compile(r"""^include[ \t]+['"](.+?)['"]""", re.MULTILINE)
MOST_INCLUDES = 8

framework = Framework("gin")


@framework.decorator("gin.configurable", "gin.register", "gin.external_configurable")
def decorate(call: Call) -> Value:
    """The function or class itself, whose parameters can be bound under its name."""
    given = call.receiver.attributes["name"] if call.receiver is not None else NONE
    _keep(call, call.positional[0], names.const_text(given))
    return call.positional[0]


@framework.function("gin.configurable", "gin.register", "gin.external_configurable")
def configurable(call: Call) -> Value:
    """What decorates, or the same for a function or class that is given."""
    first = call.positional[0] if call.positional else NONE
    if any(isinstance(item, (Class, Function)) for _, item in first):
        _keep(call, first, names.const_text(call.get("name", 1, NONE)))
        return first
    made = call.it.new("decorator", call.name, "", call.site)
    made.attributes["name"] = call.get("name_or_fn", 0, NONE)
    return of(made)


def _keep(call: Call, value: Value, name: str | None) -> None:
    for _, item in value:
        if isinstance(item, (Class, Function)):
            own = item.name if isinstance(item, Class) else getattr(item.node, "name", "")
            held: dict[str, list[Alternative]] = call.run.facts.setdefault("gin_configurables", {})
            held.setdefault((name or own).rpartition(".")[2], []).append(item)
            for (owner, parameter), bound in _bindings(call).items():
                if owner == (name or own):
                    _bind(call, item, parameter, bound)


def _bindings(call: Call) -> dict[tuple[str, str], Value]:
    held: dict[tuple[str, str], Value] = call.run.facts.setdefault("gin_bindings", {})
    return held


def _bind(call: Call, item: Alternative, parameter: str, value: Value) -> None:
    """Make a binding the default of a parameter."""
    guard = call.it.guard - call.it.run.assumed
    held = _defaults(item)
    held[parameter] = assigned(guard, value, held.get(parameter))


def _defaults(item: Alternative) -> dict[str, Value]:
    """The defaults of a function, of a class's constructor, or of its fields."""
    own = names.class_attribute(item, "__init__") if isinstance(item, Class) else of(item)
    function = next((part for _, part in own or () if isinstance(part, Function)), None)
    if function is not None:
        return function.defaults
    return item.names if isinstance(item, Class) else {}


@framework.function("gin.parse_config_file", "gin.parse_config", "gin.parse_config_files_and_bindings")
def parse(call: Call) -> Value:
    """Bind what files and texts say; macros first, the last of several bindings holds."""
    texts: list[str | None] = []
    if call.last != "parse_config":
        texts += [_text(call, name, 0) for name in _listed(call.get("config_files", 0, call.get("config_file", 0)))]
    bindings = call.get("bindings", 0 if call.last == "parse_config" else 1, NONE)
    texts += _listed(bindings) if call.last != "parse_config_file" and bindings.constant() != () else []
    found = [match.groups() for text in texts for match in BINDING.finditer(text or "")]
    macros = {owner: text for owner, parameter, text in found if parameter is None}
    for owner, parameter, text in found:
        if parameter is not None and "/" not in owner:
            _put(call, owner.rpartition(".")[2], parameter, _value(call, macros.get(text.removeprefix("%"), text)))
    if None in texts:
        for owner, items in call.run.facts.get("gin_configurables", {}).items():
            for item in items:
                for name in list(_defaults(item)):
                    _put(call, owner, name, of(call.it.unknown(name, call.site)))
    return NONE


def _put(call: Call, owner: str, parameter: str, value: Value) -> None:
    _bindings(call)[owner, parameter] = value
    for item in call.run.facts.get("gin_configurables", {}).get(owner, ()):
        _bind(call, item, parameter, value)


def _listed(value: Value) -> list[str | None]:
    """The texts of a list, or of one text; None for what is not known."""
    item = value.only()
    listed = getattr(item, "items", None)
    if listed is not None and not getattr(item, "open", False):
        return [names.const_text(each) for each in listed]
    return [] if value.constant() is None and item == NONE.only() else [names.const_text(value)]


def _text(call: Call, name: str | None, depth: int) -> str | None:
    """The text of a file with those that it includes before it."""
    path = call.it.project.file(name, call.it.module) if name else None
    source = call.it.project.source(path) if path is not None and depth < MOST_INCLUDES else None
    if source is None:
        return None
    inner = [_text(call, included, depth + 1) for included in INCLUDE.findall(source.text)]
    return None if None in inner else "\n".join([*[text for text in inner if text], source.text])


def _value(call: Call, text: str) -> Value:
    """The value of a binding: a literal of Python, unknown for anything else."""
    try:
        return const(ast.literal_eval(text.partition(" #")[0]))
    except (ValueError, SyntaxError):
        return of(call.it.unknown(text, call.site))
