"""Libraries that fill settings classes from the command line and files: tyro, draccus, pyrallis, simple-parsing.

draccus and pyrallis read the file of `--config_path` first; tyro chooses among classes by words with a colon, which are
not followed; an option of simple-parsing reaches into parts by the last name alone (tyro 0.9, draccus 0.11,
simple-parsing 0.1.8).
"""

from __future__ import annotations

from ..run import names
from ..run.calls import Call
from ..run.values import NONE, Class, Const, External, Function, Object, Partial, Value, const, of
from .argparse_parsers import parse_arguments
from .arguments import given_argument, words_of
from .filled_settings import NOBODY, Given, Words, class_named, filled, of_file, overlay, spelled
from .registry import Framework

framework = Framework("config parsers", kinds={"settings_parser": "parser"})


@framework.function("tyro.cli")
def cli(call: Call) -> Value:
    """What a class or function makes of the command line; the options of a `default` are its own."""
    words = words_of(call)
    if any(":" in word and not word.startswith("-") for word in words or ()):
        words = None
    default, given = call.get("default", None, NONE), spelled(call, words)
    if not default.objects():
        return filled(call, call.get("f", 0), given, words)
    overlay(call, default.objects(), given, words)
    return default


@framework.function("draccus.parse", "pyrallis.parse")
def parse(call: Call) -> Value:
    """An object of the class, with what the file and then the command line give."""
    return _parsed(call, call.get("config_class", 0), call.get("config_path", 1, NONE), words_of(call, 2))


def _parsed(call: Call, owner: Value, path: Value, words: Words) -> Value:
    named = given_argument(words or (), ["--config_path"])
    read = of_file(call, const(named) if named else path)
    unread = not read.values and (named or path.only() != Const(None))
    return filled(call, owner, read.then(spelled(call, words)), None if unread else words)


@framework.function("draccus.wrap", "pyrallis.wrap")
def make_decorator(call: Call) -> Value:
    """What gives a function its settings."""
    made = call.it.new("decorator", call.name, "", call.site)
    made.attributes["config_path"] = call.get("config_path", 0, NONE)
    return of(made)


@framework.decorator("draccus.wrap", "pyrallis.wrap")
def give_settings(call: Call) -> Value | None:
    """The function with an object of the class of its first parameter."""
    function = call.positional[0].only()
    if not isinstance(function, Function) or call.receiver is None or not function.node.args.args:
        return None
    owner = class_named(call, function, function.node.args.args[0].annotation)
    if owner is None:
        return None
    made = _parsed(call, of(owner), call.receiver.attributes["config_path"], words_of(call))
    return of(Partial(External("draccus.wrap.wrapped"), (of(function), made), {}, call.site.node_id))


@framework.function("draccus.wrap.wrapped")
def call_with_settings(call: Call) -> Value:
    """A call of the decorated function: with settings of its own, or with those that were parsed."""
    function, made, *given = call.positional
    inner = Call(call.it, call.site, call.name, given or [made], call.keywords, call.open, call.places)
    return call.it.call(function, inner)


# simple-parsing


@framework.function("simple_parsing:ArgumentParser")
def make_parser(call: Call) -> Value:
    """A parser of options and settings classes."""
    made = call.make("settings_parser", call.name)
    made.entries = {}
    return of(made)


@framework.method("settings_parser", "add_arguments")
def add_arguments(call: Call) -> Value:
    """The options of a class, whose object the namespace holds under a name."""
    assert call.receiver is not None
    name = names.const_text(call.get("dest", 1))
    if name:
        call.receiver.attributes[name] = call.get("dataclass", 0)
        call.receiver.sites[name] = call.site
    return NONE


@framework.method("settings_parser", "parse_args", "parse_known_args")
def parse_args(call: Call) -> Value:
    """The namespace of options, and the objects of the classes."""
    assert call.receiver is not None
    made, words = parse_arguments(call), words_of(call, 0)
    for namespace in [part for item in made.objects() for part in (item, *_first(item))]:
        for name, owner in call.receiver.attributes.items():
            if namespace.kind == "namespace":
                namespace.attributes[name] = _flat(call, owner, words)
    return made


def _first(item: Object) -> list[Object]:
    return item.items[0].objects() if item.items else []


@framework.function("simple_parsing.parse")
def parse_class(call: Call) -> Value:
    """An object of the class; the file of `config_path` gives defaults."""
    return _flat(call, call.get("config_class", 0), words_of(call, 2), of_file(call, call.get("config_path", 1, NONE)))


def _flat(call: Call, owner: Value, words: Words, read: Given = NOBODY) -> Value:
    """What the settings make of a class; a name reaches into every part that has it."""
    given = spelled(call, words)
    made = filled(call, owner, read.then(given), words)
    inner = [part for item in made.objects() for value in item.attributes.values() for part in value.objects()]
    if words is not None:
        overlay(call, [part for part in inner if isinstance(part.type, Class)], given, words)
    return made
