"""The process around the code: os, argparse, configuration files, and other ways of getting settings in."""

from __future__ import annotations

from ..analysis import imports, names
from ..analysis.calls import Call
from ..analysis.guards import Atom
from ..analysis.interpreter import Interpreter
from ..analysis.values import NONE, NOTHING, Const, External, Object, Value, const, of, union
from .registry import Framework

framework = Framework("system", kinds={"option": "unknown"})


# Environment


@framework.function("os.environ.get", "os.getenv")
def get_environment(call: Call) -> Value:
    """The variable where it is set, the default elsewhere."""
    name = names.const_text(call.get("key", 0))
    if name is None:
        return call.unknown()
    value = call.it.library.environment(call.it, name, call.get("default", 1, NONE), call.site)
    return value


@framework.function("os.environ.setdefault")
def default_environment(call: Call) -> Value:
    """Set unless it is set."""
    name = names.const_text(call.get("key", 0))
    if name is not None:
        names.set_environment(call.it, name, call.get("value", 1), call.site.node, default=True)
    return call.get("value", 1)


@framework.function("os.putenv")
def put_environment(call: Call) -> Value:
    """os.putenv(name, value)."""
    name = names.const_text(call.get("", 0))
    if name is not None:
        names.set_environment(call.it, name, call.get("", 1), call.site.node)
    return NONE


@framework.function("os.environ.update")
def update_environment(call: Call) -> Value:
    """os.environ.update({...}, NAME=value)."""
    for item in [part for value in call.positional for part in value.objects()]:
        for key, value in (item.entries or {}).items():
            if isinstance(key, str):
                names.set_environment(call.it, key, value, item.sites.get(key, call.site).node)
    for key, value in call.keywords.items():
        names.set_environment(call.it, key, value, call.place(key).node)
    return NONE


@framework.function("importlib.import_module")
def import_by_name(call: Call) -> Value:
    """The module of a literal name."""
    name = names.const_text(call.get("name", 0))
    if not name:
        return call.unknown()
    plain = name.lstrip(".")
    return imports.module_value(call.it, plain, len(name) - len(plain), call.site.node)


# Arguments


@framework.function("argparse.ArgumentParser", "transformers:HfArgumentParser")
def make_parser(call: Call) -> Value:
    """A parser; its options are added to it."""
    made = call.make("parser", call.name)
    made.entries = {}
    if call.last == "HfArgumentParser":
        made.attributes["classes"] = call.get("dataclass_types", 0)
    return of(made)


@framework.method("parser", "add_argument_group", "add_mutually_exclusive_group")
def parser_group(call: Call) -> Value:
    """Options of a group are the parser's own."""
    assert call.receiver is not None
    return of(call.receiver)


@framework.method("parser", "add_argument")
def add_argument(call: Call) -> Value:
    """One option: its default, under the condition that nobody overrides it."""
    assert call.receiver is not None and call.receiver.entries is not None
    flags = [text for value in call.positional if (text := names.const_text(value))]
    if not flags:
        return NONE
    chosen = next((flag for flag in flags if flag.startswith("--")), flags[0])
    destination = names.const_text(call.get("dest")) or chosen.lstrip("-").replace("-", "_")
    call.receiver.entries[destination] = option(call, destination, flags)
    call.receiver.sites[destination] = call.site
    return NONE


def option(call: Call, name: str, flags: list[str]) -> Value:
    """The value of a command-line option: from the launcher, else the default where it is not overridden."""
    given = given_argument(call.it, flags)
    action = names.const_text(call.get("action"))
    if given is not None:
        return const(True if action == "store_true" else False if action == "store_false" else _typed(call, given))
    if action in ("store_true", "store_false"):
        if call.it.run.facts.get("arguments") is not None:
            return const(action == "store_false")
        return of(unknown_option(call.it, name, call))
    default = call.get("default", None, NONE)
    if call.it.run.facts.get("arguments") is not None:
        return default
    return overridable(call.it, name, default, call)


def unknown_option(it: Interpreter, name: str, call: Call) -> Object:
    """A setting that only the launch decides."""
    made = it.new("option", "", f"args.{name}", call.site)
    return made


def overridable(it: Interpreter, name: str, default: Value, call: Call) -> Value:
    """A default, and something unknown where the launch overrides it."""
    other = unknown_option(it, name, call)
    parts = []
    for guard, item in default:
        literal = repr(item.value) if isinstance(item, Const) else "its default"
        subject = f"#{other.id}"
        atom = Atom(
            f"{subject}=={literal}",
            f"if `args.{name}` is its default {literal}",
            f"if `args.{name}` is not {literal}",
            subject,
            literal,
        )
        parts.append((guard | {(atom, True)}, item))
        parts.append((guard | {(atom, False)}, other))
    return Value(parts)


def given_argument(it: Interpreter, flags: list[str]) -> str | None:
    """What the launcher passes for an option; "" for a bare flag, None when it does not."""
    arguments = it.run.facts.get("arguments") or ()
    for index, word in enumerate(arguments):
        head, equals, tail = word.partition("=")
        if head.replace("_", "-") in {flag.replace("_", "-") for flag in flags}:
            if equals:
                return str(tail)
            following = arguments[index + 1] if index + 1 < len(arguments) else ""
            return "" if following.startswith("--") else str(following)
    return None


def _typed(call: Call, text: str) -> object:
    kind = call.get("type").only()
    kind_name = kind.name.rsplit(".", 1)[-1] if isinstance(kind, External) else ""
    try:
        return {"int": int, "float": float}.get(kind_name, str)(text)
    except ValueError:
        return text


@framework.method("parser", "parse_args", "parse_known_args")
def parse_arguments(call: Call) -> Value:
    """The namespace of options."""
    assert call.receiver is not None
    made = call.it.new("namespace", "argparse.Namespace", "args", call.site)
    made.attributes.update(call.receiver.entries or {})
    made.sites.update(call.receiver.sites)
    if call.name.endswith("parse_known_args"):
        pair = call.it.new("tuple", "", "", call.site)
        pair.items = [of(made), of(call.it.unknown("unparsed", call.site))]
        return of(pair)
    return of(made)


@framework.method("parser", "set_defaults")
def set_defaults(call: Call) -> Value:
    """Defaults given apart from the options."""
    assert call.receiver is not None and call.receiver.entries is not None
    for name, value in call.keywords.items():
        call.receiver.entries[name] = overridable(call.it, name, value, call)
    return NONE


@framework.method("parser", "parse_args_into_dataclasses", "parse_yaml_file", "parse_json_file", "parse_dict")
def parse_dataclasses(call: Call) -> Value:
    """One object per class, its fields open to the launch."""
    assert call.receiver is not None
    classes = call.receiver.attributes.get("classes", NOTHING)
    listed: list[Value] = []
    for _, item in classes:
        if isinstance(item, Object) and item.items is not None:
            listed.extend(item.items)
        else:
            listed.append(of(item))
    made = call.it.new("tuple", "", "", call.site)
    made.items = [_parsed(call, value) for value in listed]
    return of(made)


def _parsed(call: Call, owner: Value) -> Value:
    result = call.it.call(owner, Call(call.it, call.site, "parsed"))
    for item in result.objects():
        if item.kind == "training_args":
            item.open = True
        for name, value in list(item.attributes.items()):
            given = given_argument(call.it, [f"--{name}"])
            if given is not None:
                literal = {"true": True, "": True, "false": False}.get(given.lower(), given)
                item.attributes[name] = const(literal)
            elif call.it.run.facts.get("arguments") is None:
                item.attributes[name] = overridable(call.it, name, value, call)
    return result


# Configuration files


@framework.function("builtins.open", "io.open")
def open_file(call: Call) -> Value:
    """A file with the path it was opened by."""
    made = call.make("file", "file")
    made.attributes["path"] = call.get("file", 0)
    return of(made)


@framework.function("pathlib.Path", "pathlib.PurePath")
def make_path(call: Call) -> Value:
    """A path is its text."""
    return call.positional[0] if len(call.positional) == 1 else call.unknown()


@framework.function(
    "yaml.safe_load",
    "yaml.load",
    "yaml.full_load",
    "json.load",
    "tomllib.load",
    "tomli.load",
    "omegaconf.OmegaConf.load",
    "toml.load",
)
def load_file(call: Call) -> Value:
    """The contents of a file of the project that the code names; unknown for any other."""
    parts = []
    for guard, item in call.get("", 0):
        value = item.attributes.get("path", NOTHING) if isinstance(item, Object) else of(item)
        for inner, path in value:
            if not isinstance(path, Const) or not isinstance(path.value, str):
                continue
            data = call.it.project.data(path.value, call.it.module)
            if data is not None:
                parts.append(lifted(call, data, path.value).under(guard | inner))
    return union(parts) if parts else call.unknown()


@framework.function("omegaconf.OmegaConf.create", "omegaconf.OmegaConf.to_container", "builtins.copy")
def passed_through(call: Call) -> Value:
    """The same settings."""
    return call.get("", 0)


def lifted(call: Call, data: object, path: str) -> Value:
    """Plain data as an abstract value; mappings answer to attributes as well as to keys."""
    if isinstance(data, dict):
        made = call.it.new("dict", "config", path, call.site)
        made.entries = {key: lifted(call, value, path) for key, value in data.items()}
        made.attributes.update({key: value for key, value in made.entries.items() if isinstance(key, str)})
        return of(made)
    if isinstance(data, (list, tuple)):
        made = call.it.new("list", "config", path, call.site)
        made.items = [lifted(call, value, path) for value in data]
        return of(made)
    return const(data) if data is None or isinstance(data, (str, int, float, bool)) else call.unknown()


@framework.element("file")
def lines_of_file(it: Interpreter, item: Object, site: object) -> Value | None:
    """A line of a file is unknown."""
    return of(it.unknown("line"))
