"""absl's flags, and ml_collections' flags that hold a configuration.

What a flag defines is an attribute of FLAGS; the object that defining gives has it as `value` (absl 2.3, ml_collections
1.1: config_flags.py).
"""

from __future__ import annotations

from ..run import names
from ..run.calls import Call
from ..run.values import NONE, External, ModuleRef, Value, const, of
from .arguments import given_argument, launched, left_out, overridable, typed, unknown_option
from .config_nodes import put_at
from .filled_settings import spelled
from .registry import Framework

FLAGS = "absl.flags.FLAGS"
KINDS = {"bool": "bool", "boolean": "bool", "integer": "int", "float": "float", "string": "str", "enum": "str"}

framework = Framework("absl flags", kinds={"flag": "unknown"})


def _defined(call: Call, name: str, value: Value) -> Value:
    call.run.overrides[f"{FLAGS}.{name}"] = value
    made = call.it.new("flag", call.name, name, call.site)
    made.attributes["value"] = value
    return of(made)


@framework.function(*(f"absl:DEFINE_{kind}" for kind in KINDS))
def define(call: Call) -> Value:
    """A flag with its default, or what the launch gives."""
    name = names.const_text(call.get("name", 0))
    return _defined(call, name, _value(call, name)) if name else call.unknown()


def _value(call: Call, name: str) -> Value:
    words, default = launched(call.it), call.get("default", 1, NONE)
    if words is None:
        return overridable(call.it, name, default, call)
    kind = KINDS[call.last.removeprefix("DEFINE_")]
    given = given_argument(words, [f"--{name}", f"-{name}"])
    if kind == "bool":
        spoken = next(
            (word for word in reversed(words) if word.lstrip("-").partition("=")[0] in (name, f"no{name}")), ""
        )
        held = spoken.lstrip("-").partition("=")
        said_so = const(held[0] == name and held[2].lower() not in ("false", "0", "f"))
        return said_so if held[0] else left_out(call, name, default)
    if given is None:
        return left_out(call, name, default)
    return typed(call.it, of(External(f"builtins.{kind}")), given, call)


@framework.function("absl:run")
def run_main(call: Call) -> Value:
    """app.run(main): main with the words that are no flags."""
    return call.it.call(call.get("main", 0), Call(call.it, call.site, "main", [of(call.it.unknown("argv", call.site))]))


@framework.function("ml_collections:DEFINE_config_file")
def define_config_file(call: Call) -> Value:
    """What `get_config` of the named file gives, with what the launch overrides in it."""
    name, words = names.const_text(call.get("name", 0)), launched(call.it)
    if not name:
        return call.unknown()
    named = given_argument(words or (), [f"--{name}", f"-{name}"])
    text = named if named is not None else names.const_text(call.get("default", 1, NONE))
    value = _from_file(call, text) if text and words is not None else None
    return _overridden(call, name, value if value is not None else of(unknown_option(call.it, name, call)))


def _from_file(call: Call, text: str) -> Value | None:
    path, colon, argument = text.partition(":")
    file = call.it.project.file(path, call.it.module)
    module = call.it.import_module(file).only() if file is not None and path.endswith(".py") else None
    if not isinstance(module, ModuleRef):
        return None
    function = names.of_item(call.it, module, "get_config", call.site.node)  # type: ignore[arg-type]
    return call.it.call(function, Call(call.it, call.site, "get_config", [const(argument)] if colon else []))


@framework.function("ml_collections:DEFINE_config_dict")
def define_config_dict(call: Call) -> Value:
    """The configuration, with what the launch overrides in it."""
    name = names.const_text(call.get("name", 0))
    return _overridden(call, name, call.get("config", 1)) if name else call.unknown()


def _overridden(call: Call, name: str, value: Value) -> Value:
    given, words = spelled(call, launched(call.it)), launched(call.it)
    for item in value.objects():
        item.open = item.open or words is None
        for key, setting in given.inside(name).values.items():
            put_at(call, item, key, setting)
    return _defined(call, name, value)
