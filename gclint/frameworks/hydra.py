"""hydra and OmegaConf: the configuration that a program gets, put together from the files of the project."""

from __future__ import annotations

from pathlib import Path

from gclint.files.source import inside

from ..analysis import imports, names
from ..analysis.calls import Call
from ..analysis.hydra_configs import composed
from ..analysis.values import NONE, NOTHING, External, Object, Partial, Value, of, union
from .arguments import given_argument, launched, literal
from .registry import Framework
from .system import lifted

framework = Framework("hydra")


@framework.function("hydra.main")
def make_decorator(call: Call) -> Value:
    """What gives a function its configuration."""
    made = call.it.new("decorator", call.name, "", call.site)
    made.attributes["config_path"] = call.get("config_path", 0, NONE)
    made.attributes["config_name"] = call.get("config_name", 1, NONE)
    return of(made)


@framework.decorator("hydra.main")
def give_configuration(call: Call) -> Value:
    """The function with its configuration as the first argument."""
    assert call.receiver is not None
    found = _configuration(call, call.receiver.attributes)
    given = found if found is not None else of(call.it.new("option", "", "cfg", call.site))
    return Value((guard, Partial(item, (given,), {}, call.site.node_id)) for guard, item in call.positional[0])


@framework.function("hydra.initialize")
def initialize(call: Call) -> Value:
    """Where `compose` looks, from here on."""
    call.run.facts["hydra_path"] = call.get("config_path", 0, NONE)
    return of(call.it.new("context", call.name, "", call.site))


@framework.function("hydra.compose")
def compose(call: Call) -> Value:
    """The configuration of this name."""
    path = call.run.facts.get("hydra_path", NONE)
    found = _configuration(call, {"config_path": path, "config_name": call.get("config_name", 0, NONE)}, ())
    return found if found is not None else call.unknown()


def _configuration(call: Call, given: dict[str, Value], words: tuple[str, ...] | None = None) -> Value | None:
    words = launched(call.it) or () if words is None else words
    named = given_argument(words, ["--config-name", "-cn"])
    name = named or names.const_text(given["config_name"])
    directory = names.const_text(given["config_path"])
    if not name:
        return None
    here = call.it.project.absolute(call.it.module).parent
    place = Path(here, directory or ".").resolve()
    data = composed(place, name, words) if inside(place, call.it.project.root) else None
    return None if data is None else lifted(call, data, name)


@framework.function("hydra.utils.instantiate", "hydra.utils.call")
def instantiate(call: Call) -> Value:
    """What `_target_` names, called with the other keys."""
    item = call.get("config", 0).only()
    if not isinstance(item, Object) or item.entries is None:
        return call.unknown()
    return _instantiated(call, item, dict(call.keywords))


def _instantiated(call: Call, item: Object, more: dict[str, Value]) -> Value:
    target = names.const_text((item.entries or {}).get("_target_", NOTHING))
    if target is None:
        return of(item)
    keywords = {}
    for key, value in (item.entries or {}).items():
        inner = value.only()
        nested = isinstance(inner, Object) and inner.entries is not None and "_target_" in inner.entries
        if not str(key).startswith("_"):
            keywords[str(key)] = _instantiated(call, inner, {}) if nested else value  # type: ignore[arg-type]
    function = _named(call, target)
    if (item.entries or {}).get("_partial_", NOTHING).constant() is True:
        return Value((guard, Partial(part, (), {**keywords, **more}, call.site.node_id)) for guard, part in function)
    return call.it.call(function, Call(call.it, call.site, target, call.positional[1:], {**keywords, **more}))


def _named(call: Call, target: str) -> Value:
    """What a dotted name means: of the project if it has the module, else a library's."""
    module, _, last = target.rpartition(".")
    if module and call.it.project.resolve(module, 0, call.it.module) is not None:
        found = imports.module_value(call.it, module, 0, call.site.node)
        return union(names.of_item(call.it, item, last, call.site.node) for _, item in found)  # type: ignore[arg-type]
    return of(External(target))


# OmegaConf


@framework.function("omegaconf.OmegaConf.create", "omegaconf.OmegaConf.to_container", "omegaconf.OmegaConf.structured")
def passed_through(call: Call) -> Value:
    """The same settings; a class gives its defaults."""
    given = call.get("obj", 0)
    if call.last == "structured" and not given.objects():
        return call.it.call(given, Call(call.it, call.site, "structured"))
    return given


@framework.function("omegaconf.OmegaConf.from_cli")
def from_command_line(call: Call) -> Value:
    """`a.b=c` words of the launcher."""
    words = launched(call.it)
    if words is None:
        return call.unknown()
    data: dict[str, object] = {}
    for word in words:
        key, equals, text = word.partition("=")
        held: dict[str, object] = data
        *outer, last = key.split(".")
        for part in outer:
            held = held.setdefault(part, {})  # type: ignore[assignment]
        if equals:
            held[last] = literal(text)
    return lifted(call, data, "command line")


@framework.function("omegaconf.OmegaConf.merge", "omegaconf.OmegaConf.unsafe_merge")
def merge(call: Call) -> Value:
    """Settings on settings: the last one wins, key by key."""
    made = call.it.new("dict", "config", "", call.site)
    made.entries = {}
    for value in call.positional:
        item = value.only()
        if not isinstance(item, Object) or not _merge(call, made, item):
            made.open = True
    return of(made)


def _merge(call: Call, made: Object, other: Object) -> bool:
    """Put the entries, or the fields, of one object into another; False when they are not known."""
    entries = other.entries if other.entries is not None else other.attributes if other.attributes else None
    if entries is None or made.entries is None:
        return False
    for key, value in entries.items():
        held, item = made.entries.get(key, NOTHING).only(), value.only()
        if isinstance(held, Object) and isinstance(item, Object) and held.entries is not None:
            inner = call.it.new("dict", "config", held.label, call.site)
            inner.entries = {}
            _merge(call, inner, held)
            _merge(call, inner, item)
            value = of(inner)
        made.entries[key] = value
        if isinstance(key, str):
            made.attributes[key] = value
    return not other.open
