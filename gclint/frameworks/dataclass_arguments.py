"""Settings classes filled from outside: HfArgumentParser and TrlParser, from the command line or from a file."""

from __future__ import annotations

from ..run import environment
from ..run.calls import Call
from ..run.invocation import fields
from ..run.values import NOTHING, Class, Object, Value, const, of
from .arguments import given_argument, launched
from .filled_settings import NOBODY, Given, Words, entries, of_file, overlay, settle, spelled
from .registry import Framework

framework = Framework("dataclass arguments")


@framework.function("transformers:HfArgumentParser", "trl:TrlParser")
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
    read = NOBODY
    if call.name.endswith("parse_args_and_config"):
        named = given_argument(words or (), ["--config"])
        read = of_file(call, const(named)) if named else read
        if named:
            environment.forget(call.it)  # the file's `env` goes into the environment
    return _objects(call, read, words)


@framework.method("parser", "parse_yaml_file", "parse_json_file")
def parse_file(call: Call) -> Value:
    """One object per class, its fields as the file of the project gives them."""
    read = of_file(call, call.get("yaml_file" if call.name.endswith("parse_yaml_file") else "json_file", 0))
    return _objects(call, read, () if read.values else None)


@framework.method("parser", "parse_dict")
def parse_dict(call: Call) -> Value:
    """One object per class, its fields as the dict gives them."""
    held = call.get("args", 0).only()
    if not isinstance(held, Object) or held.entries is None or held.open:
        return _objects(call, NOBODY, None)
    return _objects(call, entries(held), ())


def _objects(call: Call, read: Given, words: Words) -> Value:
    """The settings objects, given what a file says and the words of the command line (None: not known)."""
    assert call.receiver is not None
    listed: list[Value] = []
    for _, item in call.receiver.attributes.get("classes", NOTHING):
        if isinstance(item, Object) and item.items is not None:
            listed.extend(item.items)
        else:
            listed.append(of(item))
    made = call.it.new("tuple", "", "", call.site)
    defined = {name for value in listed for _, item in value if isinstance(item, Class) for name in fields(item)}
    made.items = [_filled(call, owner, read, words, defined) for owner in listed]
    return of(made)


def _filled(call: Call, owner: Value, read: Given, words: Words, defined: set[str]) -> Value:
    """An object of one of the classes; what is a field of none of the project's goes to the library's."""
    spoken = spelled(call, words)
    given = read.then(Given(spoken.values, {**dict.fromkeys(spoken.values, call.site), **spoken.sites}))
    own = owner.only()
    passed = {name: value for name, value in given.values.items() if name not in defined}
    places = dict(given.sites) if passed else {}
    result = call.it.call(owner, Call(call.it, call.site, "parsed", [], passed, places=places, unfilled=True))
    for item in result.objects():
        if item.kind == "training_args":
            item.open = words is None
            item.attributes.update(given.values if isinstance(own, Class) else {})
    overlay(call, result.objects(), given, words)
    settle(call, result)
    return result
