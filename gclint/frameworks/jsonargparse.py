"""jsonargparse, and LightningCLI, which is made with it: options and files for the parameters of classes.

A file comes before the options, a later file before an earlier one; `class_path` and `init_args` name a class and what
it is given (jsonargparse 4.40, pytorch-lightning 2.5.5).
"""

from __future__ import annotations

from typing import Any

from ..run import names
from ..run.calls import Call
from ..run.pages import Mapping
from ..run.values import NONE, NOTHING, TRUE, Class, Const, External, Object, Value, of
from .argparse_parsers import parse_arguments
from .arguments import words_of
from .files_read import lifted
from .filled_settings import NOBODY, Given, Words, entries, filled, of_file, spelled
from .hydra import named
from .registry import Framework

FILES = ("--config", "-c", "--cfg")
STARTS = ("fit", "validate", "test", "predict")
OWN_SETTINGS = ("add_arguments_to_parser", "parse_arguments", "before_instantiate_classes", "instantiate_trainer")

framework = Framework("jsonargparse", kinds={"config_parser": "parser"})


def given_by(call: Call, words: Words) -> tuple[Given, Words]:
    """The settings of the files and options; the words are not known where a file is not."""
    data: Mapping | None = Mapping()
    for word, following in zip(words or (), [*(words or ())][1:], strict=False):
        if word in FILES:
            data = _merged(data, call.it.project.data(following, call.it.module))
    if data is None:
        return spelled(call, words), None
    options = spelled(call, words)
    for name, value in options.values.items():
        if str(value.constant()).endswith((".yaml", ".yml")) and f"--{name}" not in FILES:
            part = of_file(call, value)
            options.values[name] = lifted(call, dict(part.values), name)
    read = entries(lifted(call, data, "config").objects()[0])
    return read.then(options), words


def _merged(first: Mapping | None, second: Any) -> Mapping | None:
    """Two mappings, the second over the first, part by part; None where one is not known."""
    if first is None or not isinstance(second, Mapping):
        return None
    made = Mapping(first, second.site, first.sites)
    for key, value in second.items():
        held = first.get(key)
        both = _merged(held, value) if isinstance(held, Mapping) and isinstance(value, Mapping) else value
        made.put(key, both, second.sites.get(key))
    return made


def built(call: Call, owner: Value, given: Given, words: Words) -> Value:
    """An object of the class, or of that which the settings name, whose arguments that name a class are built too."""
    path = names.const_text(given.values.get("class_path", NOTHING))
    if path is not None:
        inner = given.inside("init_args")
        return built(call, named(call, path), inner, words)
    values = {
        name: _part(call, value, words) if isinstance(item := value.only(), Object) and item.entries else value
        for name, value in given.values.items()
    }
    return filled(call, owner, Given(values, given.sites), words)


def _part(call: Call, value: Value, words: Words) -> Value:
    given = entries(value.objects()[0])
    return built(call, NOTHING, given, words) if "class_path" in given.values else value


@framework.function("jsonargparse.CLI", "jsonargparse.auto_cli")
def cli(call: Call) -> Value:
    """Call the function, or make an object and call the method of it that the command line names."""
    words = words_of(call, 1)
    given, known = given_by(call, words)
    component = call.get("components", 0)
    if not any(isinstance(item, Class) for _, item in component):
        return filled(call, component, given, known)
    made = built(call, component, given, known)
    for item in made.objects():
        method = next((word for word in words or () if isinstance(item.type, Class) and word in item.type.names), None)
        if method is not None:
            return filled(call, names.of_object(call.it, item, method, call.site.node), given, known)  # type: ignore[arg-type]
    return made


@framework.function("jsonargparse.ArgumentParser")
def make_parser(call: Call) -> Value:
    """A parser of options, classes and functions."""
    made = call.make("config_parser", call.name)
    made.entries = {}
    return of(made)


@framework.method("config_parser", "add_class_arguments", "add_subclass_arguments")
def add_class(call: Call) -> Value:
    """The parameters of a class under a name."""
    assert call.receiver is not None
    name = names.const_text(call.get("nested_key", 1, NONE))
    if name:
        call.receiver.attributes[name] = call.get("theclass", 0)
    return NONE


@framework.method("config_parser", "parse_args")
def parse_args(call: Call) -> Value:
    """The namespace of options, with what files give for them."""
    made = parse_arguments(call)
    given, _ = given_by(call, words_of(call, 0))
    for namespace in made.objects():
        held = {name: value for name, value in given.values.items() if "." not in name}
        namespace.attributes.update(held)
    return made


@framework.method("config_parser", "instantiate_classes", "instantiate")
def instantiate_classes(call: Call) -> Value:
    """The namespace, in which each class's parameters are an object of it."""
    assert call.receiver is not None
    made = call.it.new("namespace", "jsonargparse.Namespace", "cfg", call.site)
    given, known = given_by(call, words_of(Call(call.it, call.site, "")))
    for item in call.get("cfg", 0).objects():
        made.attributes.update(item.attributes)
        made.open = made.open or item.open
    for name, owner in call.receiver.attributes.items():
        made.attributes[name] = built(call, owner, given.inside(name), known)
    return of(made)


@framework.function("lightning:LightningCLI", "pytorch_lightning:LightningCLI")
def lightning_cli(call: Call) -> Value:
    """Model, data and trainer as the settings describe them, and the trainer's method that the command line names."""
    it, words = call.it, words_of(call)
    given, known = given_by(call, words)
    command = next((word for word in words or () if word in STARTS), None if words else "fit")
    given = given.then(given.inside(command or ""))
    own = call.instance.type if call.instance is not None else None
    if isinstance(own, Class) and any(name in own.names for name in OWN_SETTINGS):
        known = None
    made = call.make("lightning_cli", call.name)
    data = call.get("datamodule_class", 1, NONE)
    made.attributes["model"] = built(call, call.get("model_class", 0), given.inside("model"), known)
    made.attributes["datamodule"] = (
        built(call, data, given.inside("data"), known) if data.only() != Const(None) else NONE
    )
    default = External(f"{call.name.partition('.')[0]}.Trainer")
    preset = [entries(item) for item in call.get("trainer_defaults", 5, NONE).objects()]
    settings = (preset[0] if preset else NOBODY).then(given.inside("trainer"))
    trainer = made.attributes["trainer"] = built(call, call.get("trainer_class", 4, of(default)), settings, known)
    if call.get("run", None, TRUE).constant() is not False and command is not None:
        _hook(call, made, f"before_{command}")
        for item in trainer.objects():
            given_to = {"model": made.attributes["model"], "datamodule": made.attributes["datamodule"]}
            it.library.call_method(it, command, Call(it, call.site, command, [], given_to, receiver=item))
        _hook(call, made, f"after_{command}")
    return of(made)


def _hook(call: Call, made: Object, name: str) -> None:
    """What the project's own class does before or after the trainer's method (`_run_subcommand` in
    lightning/pytorch/cli.py).
    """
    if isinstance(made.type, Class) and names.class_attribute(made.type, name) is not None:
        call.it.call(names.of_object(call.it, made, name, call.site.node), Call(call.it, call.site, name))  # type: ignore[arg-type]
