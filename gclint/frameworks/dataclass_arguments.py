"""Settings classes filled from outside: HfArgumentParser and TrlParser, from the command line or from a file."""

from __future__ import annotations

import json
from typing import NamedTuple

from ..ir.syntax import Site
from ..run import environment, names
from ..run.calls import Call
from ..run.commands import command
from ..run.pages import SPREAD, is_written
from ..run.values import NOTHING, Class, Object, Value, const, of
from .arguments import given_argument, launched, literal, overridable, said
from .registry import Framework
from .system import lifted

framework = Framework("dataclass arguments")


@framework.function("transformers:HfArgumentParser", "trl:TrlParser", "simple_parsing:ArgumentParser")
def make_parser(call: Call) -> Value:
    """A parser of settings classes; options may be added to it besides."""
    made = call.make("parser", call.name)
    made.entries = {}
    made.attributes["classes"] = call.get("dataclass_types", 0)
    return of(made)


@framework.method("parser", "parse_args_into_dataclasses", "parse_args_and_config")
def parse_command_line(call: Call) -> Value:
    """One object per class, its fields open to the launch; trl's parser reads the file of `--config` first."""
    words = launched(call.it)
    read = _Given({}, {})
    if call.name.endswith("parse_args_and_config"):
        named = given_argument(words or (), ["--config"])
        read = _of_file(call, const(named)) if named else read
        if named:
            environment.forget(call.it)  # the file's `env` goes into the environment
    return _objects(call, read, words)


@framework.method("parser", "parse_yaml_file", "parse_json_file")
def parse_file(call: Call) -> Value:
    """One object per class, its fields as the file of the project gives them."""
    read = _of_file(call, call.get("yaml_file" if call.name.endswith("parse_yaml_file") else "json_file", 0))
    return _objects(call, read, () if read.values else None)


@framework.method("parser", "parse_dict")
def parse_dict(call: Call) -> Value:
    """One object per class, its fields as the dict gives them."""
    held = call.get("args", 0).only()
    if not isinstance(held, Object) or held.entries is None or held.open:
        return _objects(call, _Given({}, {}), None)
    return _objects(call, _entries(held), ())


class _Given(NamedTuple):
    """Settings by name, and where they are written, as far as that is known."""

    values: dict[str, Value]
    sites: dict[str, Site]


def _of_file(call: Call, path: Value) -> _Given:
    """The top level of a configuration file of the project; empty when it cannot be told."""
    name = names.const_text(path)
    data = call.it.project.data(name, call.it.module) if name else None
    if not isinstance(data, dict):
        return _Given({}, {})
    return _entries(lifted(call, data, str(name)).objects()[0])


def _entries(held: Object) -> _Given:
    sites = dict(held.sites)
    if held.site is not None and is_written(held.site):
        sites[SPREAD] = held.site
    return _Given({str(key): value for key, value in (held.entries or {}).items()}, sites)


def _objects(call: Call, read: _Given, words: tuple[str, ...] | None) -> Value:
    """The settings objects, given what a file says and the words of the command line (None: not known)."""
    assert call.receiver is not None
    listed: list[Value] = []
    for _, item in call.receiver.attributes.get("classes", NOTHING):
        if isinstance(item, Object) and item.items is not None:
            listed.extend(item.items)
        else:
            listed.append(of(item))
    made = call.it.new("tuple", "", "", call.site)
    made.items = [_filled(call, owner, read, words) for owner in listed]
    return of(made)


def _filled(call: Call, owner: Value, read: _Given, words: tuple[str, ...] | None) -> Value:
    spelled = _spelled(call, words or ())
    given, sites = {**read.values, **spelled.values}, {**spelled.sites, **read.sites}
    sites.update({name: spelled.sites.get(name, call.site) for name in spelled.values})
    own = owner.only()
    passed = dict(given) if not isinstance(own, Class) else {}
    places = dict(sites) if passed else {}
    result = call.it.call(owner, Call(call.it, call.site, "parsed", [], passed, places=places))
    for item in result.objects():
        item.sites.update({name: site for name, site in sites.items() if name in item.attributes or name == SPREAD})
        if item.kind == "training_args":
            item.open = words is None
            item.attributes.update(given if isinstance(own, Class) else {})
        for name, value in list(item.attributes.items()):
            if name in given:
                item.attributes[name] = given[name]
            elif words is None:
                item.attributes[name] = overridable(call.it, name, value, call)
    return result


def _spelled(call: Call, words: tuple[str, ...]) -> _Given:
    """`--name value` by name: a boolean, a number, a JSON object, else text."""
    found = _Given({}, {})
    page = command(call.it)
    if page is not None:
        found.sites[SPREAD] = page.site
    for at, word in enumerate(words):
        if not word.startswith("--"):
            continue
        name, equals, tail = word[2:].partition("=")
        following = words[at + 1] if at + 1 < len(words) else "--"
        text = tail if equals else "" if following.startswith("--") else following
        place = page.option([f"--{name}"]) if page is not None else None
        found.values[name.replace("-", "_")] = _read(call, text, place)
        if place is not None:
            found.sites[name.replace("-", "_")] = place
    return found


def _read(call: Call, text: str, place: Site | None) -> Value:
    value = said(call.it, text)
    if value.objects():
        return value
    if text.startswith("{"):
        try:
            data = json.loads(text)
            page = command(call.it)
            return lifted(call, page.placed(data, place) if page is not None and place is not None else data, "--")
        except ValueError:
            return value
    return const(literal(text), place)
