"""Functions as command lines: click, typer, fire, tyro. Their parameters are what the launcher gives, or defaults."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.syntax import parameters
from ..run import names
from ..run.calls import Call
from ..run.commands import command
from ..run.pages import placed
from ..run.values import FALSE, NONE, Alternative, Class, Function, Object, Partial, Value, const, of, union
from .arguments import given_argument, launched, left_out, literal, overridable, said, typed, unknown_option
from .registry import Framework

framework = Framework("command functions", kinds={"commands": "unknown"})

OPTIONS = ("click.option", "click.argument", "rich_click.option", "rich_click.argument")
COMMANDS = ("click.command", "rich_click.command")
GROUPS = ("click.group", "rich_click.group")


# click


@framework.function(*OPTIONS, *COMMANDS, *GROUPS)
def make_decorator(call: Call) -> Value:
    """What decorates a function; it remembers what it was made with."""
    made = call.it.new("decorator", call.name.replace("rich_click", "click"), "", call.site)
    call.run.facts[f"decorator:{made.id}"] = call
    return of(made)


@framework.decorator("click.option", "click.argument")
def add_option(call: Call) -> Value:
    """The function with one parameter given by the command line."""
    assert call.receiver is not None
    made: Call = call.run.facts[f"decorator:{call.receiver.id}"]
    flags, name = _flags(made), parameter_of(made)
    if not flags:
        return call.positional[0]
    value = _click_value(made, name, [part for flag in flags for part in flag.split("/")[:1]])
    return Value(
        (guard, Partial(item, (), {name: value}, made.site.node_id, {name: made.site}))
        for guard, item in call.positional[0]
    )


def _flags(made: Call) -> list[str]:
    return [text for value in made.positional if (text := names.const_text(value))]


def parameter_of(made: Call) -> str:
    """The parameter that one of click's options fills; "" where it has no name."""
    flags = _flags(made)
    plain = [flag for flag in flags if not flag.startswith("-")]
    name = next(iter(plain or [flag for flag in flags if flag.startswith("--")] or flags), "")
    return name.split("/")[0].lstrip("-").replace("-", "_").lower()


def _click_value(made: Call, name: str, flags: list[str]) -> Value:
    words = launched(made.it)
    switch = made.get("is_flag").constant() is True or any("/" in str(value.constant()) for value in made.positional)
    default = made.get("default", None, FALSE if switch else NONE)
    if made.last == "argument":
        return of(unknown_option(made.it, name, made))
    if words is None:
        return overridable(made.it, name, default, made)
    given, page = given_argument(words, flags), command(made.it)
    place = page.option(flags, switch) if page is not None and given is not None else None
    if switch:
        known = const(True, place) if given is not None else const(False) if f"--no-{name}" in words else None
        return known or left_out(made, name, default)
    if given is None:
        return left_out(made, name, default)
    value = typed(made.it, made.get("type"), given, made) if made.gives("type") else const(literal(given))
    return placed(value, place)


@framework.decorator("click.command")
def click_command(call: Call) -> Value:
    """A command is called like its function, without its arguments."""
    return call.positional[0]


@framework.decorator("click.group")
def click_group(call: Call) -> Value:
    """A function with commands below it."""
    made = call.it.new("commands", "click.Group", "", call.site)
    made.items = [call.positional[0]]
    return of(made)


# typer


@framework.function("typer.Typer")
def make_app(call: Call) -> Value:
    """An application; its commands are added to it."""
    made = call.make("commands", call.name)
    made.items = []
    return of(made)


@framework.function("typer.Option", "typer.Argument")
def typer_default(call: Call) -> Value:
    """A parameter's default, with what typer is told of it."""
    return call.get("default", 0, NONE)


@framework.method("commands", "command", "group", "callback")
def register(call: Call) -> Value:
    """`@app.command()`: what it decorates is a command of the application."""
    made = call.it.new("decorator", "commands.register", "", call.site)
    made.attributes["of"] = of(call.receiver) if call.receiver is not None else NONE
    return of(made)


@framework.decorator("commands.register")
def registered(call: Call) -> Value:
    """The function stays; the application knows it."""
    assert call.receiver is not None
    for app in call.receiver.attributes["of"].objects():
        app.items = [*(app.items or []), call.positional[0]]
    return call.positional[0]


@framework.method("commands", "add_command", "add_typer")
def add_command(call: Call) -> Value:
    """A command, or an application of its own, below this one."""
    assert call.receiver is not None
    call.receiver.items = [*(call.receiver.items or []), call.get("cmd", 0)]
    return NONE


@framework.calling("commands")
def call_commands(call: Call) -> Value | None:
    """The application runs the command that the launcher names; any of them where none is known."""
    assert call.receiver is not None
    words = launched(call.it)
    held = call.receiver.items or []
    named = [value for value in held if words and any(name.replace("_", "-") in words for name in _names(value))]
    for value in named or held:
        _run(call, value)
    return NONE


def _names(value: Value) -> Iterator[str]:
    for _, item in value:
        while isinstance(item, Partial):
            item = item.function
        if isinstance(item, Function):
            yield getattr(item.node, "name", "")


# A function, a class or a dict of them as a program


@framework.function("fire.Fire", "typer.run", "tyro.cli", "jsonargparse.CLI", "jsonargparse.auto_cli", "defopt.run")
def run_function(call: Call) -> Value:
    """Fire(main), tyro.cli(Config): called with what the command line gives, its defaults else. Where fire is given
    nothing, the command line names one of the module's own functions (fire/core.py).
    """
    if call.name == "fire.Fire" and not call.positional and not call.keywords and not call.open:
        return union(_run(call, value) for value in _own_functions(call))
    parts = []
    for guard, item in call.get("component", 0, call.get("f", 0)):
        chosen = list(item.entries.values()) if isinstance(item, Object) and item.entries else [of(item)]
        with call.it.under(guard) as possible:
            if possible:
                parts += [_run(call, value).under(guard) for value in chosen]
    return union(parts) if parts else call.unknown()


def _own_functions(call: Call) -> list[Value]:
    """The functions that the module of a call defines so far; the one that the launcher names, where one is known."""
    module, words = call.it.module, launched(call.it) or ()
    held = {
        name: value
        for name, value in call.it.module_scope(module).names.items()
        if any(isinstance(item, Function) and item.module is module for _, item in value)
    }
    named = [held[name] for word in words if (name := word.replace("-", "_")) in held]
    return named[:1] or list(held.values())


def _run(call: Call, value: Value) -> Value:
    return union(
        call.it.call(of(item), Call(call.it, call.site, call.name, [], _given(call, item))).under(guard)
        for guard, item in value
    )


def _given(call: Call, item: Alternative) -> dict[str, Value]:
    """What the command line gives each parameter that nothing gives yet."""
    taken: set[str] = set()
    while isinstance(item, Partial):
        taken |= set(item.keywords)
        item = item.function
    if isinstance(item, Class):
        held = names.class_attribute(item, "__init__")
        made = held.only() if held is not None else None
        item = made.bound(item) if isinstance(made, Function) else item
    if not isinstance(item, Function):
        return {}
    wanted = [param.arg for param, _ in parameters(item.node.args)][item.receiver is not None :]
    return {name: _value(call, name, item.defaults.get(name)) for name in wanted if name not in taken}


def _value(call: Call, name: str, default: Value | None) -> Value:
    words = launched(call.it)
    given = given_argument(words, [f"--{name}"]) if words is not None else None
    if given is not None:
        value = said(call.it, given)
        page = command(call.it)
        place = page.option([f"--{name}"]) if page is not None else None
        return value if value.objects() else const(literal(given), place)
    if default is None:
        return of(unknown_option(call.it, name, call))
    return left_out(call, name, default) if words is not None else overridable(call.it, name, default, call)
