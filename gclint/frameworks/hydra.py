"""hydra and OmegaConf: the configuration that a program gets, put together from its files and what it stores."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from gclint.source.source import inside

from ..ir.project import Project
from ..ir.syntax import Site
from ..run import imports, names
from ..run.calls import Call
from ..run.commands import command
from ..run.hydra_configs import composed
from ..run.pages import SPREAD, is_written
from ..run.values import NONE, NOTHING, Class, External, Object, Partial, Value, const, of, union
from .arguments import given_argument, launched, literal
from .files_read import lifted
from .hydra_store import asked, awaited, settings, stored
from .registry import Framework

CONFIGURED = "configured"  # of the run's facts: the functions that get a configuration
MOST_FILES = 300
INTERPOLATED = re.compile(r"\$\{([^}]*)")

framework = Framework("hydra")


class Configured(NamedTuple):
    """A function that gets a configuration, which is put together of files of a folder; `names` tells all that these
    name in interpolations, None where there are too many of them.
    """

    function: Value
    configuration: Object
    names: Callable[[], frozenset[str] | None]


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
    given, asked_for = call.it.new("option", "", "cfg", call.site), call.receiver.attributes
    asked(call).append(lambda: _fill(call, given, asked_for))
    _fill(call, given, asked_for)
    folder, project = _directory(call, asked_for["config_path"], ""), call.it.project
    configured = Configured(call.positional[0], given, lambda: _interpolated(folder, project))
    call.run.facts.setdefault(CONFIGURED, []).append(configured)
    return Value((guard, Partial(item, (of(given),), {}, call.site.node_id)) for guard, item in call.positional[0])


def _interpolated(folder: Path | None, project: Project) -> frozenset[str] | None:
    """The words that stand in interpolations of the files of a folder."""
    paths = sorted(folder.rglob("*.y*ml")) if folder is not None else []
    if folder is None or len(paths) > MOST_FILES:
        return None
    return interpolated_in(source.text for path in paths if (source := project.source(os.fspath(path))) is not None)


def interpolated_in(texts: Iterable[str]) -> frozenset[str]:
    """The words that stand in interpolations of texts: `${model.width}`."""
    inner = (each for text in texts for each in INTERPOLATED.findall(text))
    return frozenset(word for each in inner for word in re.findall(r"\w+", each))


def _fill(call: Call, given: Object, asked_for: dict[str, Value]) -> None:
    found = _configuration(call, asked_for)
    for item in found.objects() if found is not None else ():
        given.kind, given.type, given.entries, given.attributes = "dict", "config", item.entries, item.attributes
        given.sites, given.site = item.sites, item.site


@framework.function("hydra.initialize")
def initialize(call: Call) -> Value:
    """Where `compose` looks, from here on."""
    call.run.facts["hydra_path"] = call.get("config_path", 0, NONE)
    return of(call.it.new("context", call.name, "", call.site))


@framework.function("hydra.compose")
def compose(call: Call) -> Value:
    """The configuration of this name."""
    path = call.run.facts.get("hydra_path", NONE)
    given = call.get("overrides", 1, NONE).objects()
    words = [value.constant() for item in given for value in (item.items if item.items is not None else [NONE])]
    if not all(isinstance(word, str) for word in words):
        return call.unknown()
    found = _configuration(call, {"config_path": path, "config_name": call.get("config_name", 0, NONE)}, tuple(words))
    return found if found is not None else call.unknown()


def _configuration(call: Call, given: dict[str, Value], words: tuple[str, ...] | None = None) -> Value | None:
    page = command(call.it) if words is None else None
    words = launched(call.it) or () if words is None else words
    named = given_argument(words, ["--config-name", "-cn"])
    name = named or names.const_text(given["config_name"])
    if not name:
        return None
    path = given_argument(words, ["--config-path", "-cp"])
    directory = _directory(call, const(path) if path else given["config_path"], name)
    place = page.word if page is not None else _nowhere
    data = composed(directory, name, words, stored(call), call.it.project.document, place, call.it.project.root)
    return None if data is None else lifted(call, awaited(call, data), name)


def _nowhere(word: str) -> Site | None:
    """Of words that no command spells it is not told where they are written."""
    return None


def _directory(call: Call, config_path: Value, name: str) -> Path | None:
    """Where the files are: beside the script where no path is given, unless the configuration is stored."""
    directory = names.const_text(config_path)
    if directory is None and name.removesuffix(".yaml") in stored(call):
        return None
    place = Path(call.it.project.absolute(call.it.module).parent, directory or ".").resolve()
    return place if inside(place, call.it.project.root) else None


@framework.function("hydra.utils.instantiate", "hydra.utils.call")
def instantiate(call: Call) -> Value:
    """What `_target_` names, called with the other keys."""
    item = call.get("config", 0).only()
    if isinstance(item, Object) and isinstance(item.type, Class):
        item = lifted(call, awaited(call, settings(call, of(item))), item.type.name).only()
    if not isinstance(item, Object) or item.entries is None:
        return call.unknown()
    return _instantiated(call, item, call.positional[1:], dict(call.keywords))


def _instantiated(call: Call, item: Object, given: Sequence[Value], more: dict[str, Value]) -> Value:
    """What a mapping names, called; a mapping or a list that names nothing, with what is called inside of it."""
    entries = item.entries or {}
    deep = entries.get("_recursive_", NOTHING).constant() is not False
    made = {key: _inner(call, value) if deep else value for key, value in entries.items()}
    target = names.const_text(entries.get("_target_", NOTHING))
    if target is None:
        return of(_with_parts(call, item, made)) if deep else of(item)
    keywords = {str(key): value for key, value in made.items() if not str(key).startswith("_")} | more
    listed = [value for part in made.get("_args_", NOTHING).objects() for value in part.items or []]
    positional = list(given or listed)
    holder = {SPREAD: item.site} if item.site is not None and is_written(item.site) else {}
    places = {name: site for name, site in item.sites.items() if name in keywords} | holder
    places |= {name: call.place(name) for name in more}
    function = named(call, target)
    if entries.get("_partial_", NOTHING).constant() is True:
        made_of = (tuple(positional), keywords, call.site.node_id, places)
        return Value((guard, Partial(part, *made_of)) for guard, part in function)
    return call.it.call(function, Call(call.it, call.site, target, positional, keywords, places=places))


def _inner(call: Call, value: Value) -> Value:
    item = value.only()
    plain = isinstance(item, Object) and (item.entries is not None or item.items is not None)
    return _instantiated(call, item, (), {}) if plain else value  # type: ignore[arg-type]


def _with_parts(call: Call, item: Object, made: dict[object, Value]) -> Object:
    held = call.it.new(item.kind, "config", item.label, call.site)
    held.entries, held.open = None if item.entries is None else made, item.open
    held.items, held.each = None if item.items is None else [_inner(call, value) for value in item.items], item.each
    held.attributes.update({key: value for key, value in made.items() if isinstance(key, str)})
    held.site, held.sites = item.site or held.site, item.sites
    return held


def named(call: Call, target: str) -> Value:
    """What a dotted name means: of the project if it has the module, else a library's."""
    module, _, last = target.rpartition(".")
    if module and call.it.project.resolve(module, 0, call.it.module) is not None:
        found = imports.module_value(call.it, module, 0, call.site.node)
        return union(names.of_item(call.it, item, last, call.site.node) for _, item in found)  # type: ignore[arg-type]
    return of(External(target))


# OmegaConf


@framework.function(*(f"omegaconf.OmegaConf.{name}" for name in ("create", "structured", "to_container", "to_object")))
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
