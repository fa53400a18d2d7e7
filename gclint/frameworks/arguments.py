"""Command lines: sys.argv and argparse, and what the launcher gives them.

An option that the known launcher leaves out has its default; with no launcher known, it has its default under the
condition that nobody overrides it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ..ir.syntax import Site
from ..launch.launched import Launch
from ..pins.versions import Targets
from ..run import defaults, environment, names
from ..run.calls import Call
from ..run.commands import command
from ..run.interpreter import Interpreter
from ..run.pages import place_of, placed
from ..run.run import LEFT_OUT, OPTIONS, Run
from ..run.values import MISSING, NONE, NOTHING, Const, External, Function, Object, Value, const, of
from .registry import Framework

framework = Framework("arguments", kinds={"option": "unknown"})

VALUELESS = ("store_true", "store_false", "store_const", "count", "help", "version")
WHOLE = re.compile(r"[+-]?\d+")
RANK = "$LOCAL_RANK"
_PASSED_ON = re.compile(r"\$(?:[@*]|\{[@*](?::\d+)?\})")  # what a script is given itself, whatever that is
FRACTION = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=e))(?:e[+-]?\d+)?", re.IGNORECASE)


def launched(it: Interpreter) -> tuple[str, ...] | None:
    """The words that the launcher gives the program; None when no launcher is known."""
    given = it.run.facts.get("arguments")
    return None if given is None else tuple(given)


def rank_option(launch: Launch, targets: Targets) -> tuple[str, ...]:
    """The option by which a launcher gives each process its number on the machine: `torch.distributed.launch` spells it
    otherwise since 2.0 (torch/distributed/run.py, `config_from_args`), DeepSpeed's does not (launcher/launch.py).
    """
    if not launch.passes_rank:
        return ()
    release = targets.version("torch")
    underscored = launch.launcher == "deepspeed" or (release is not None and release.major < 2)
    return (f"{'--local_rank' if underscored else '--local-rank'}={RANK}",)


def said(it: Interpreter, word: str) -> Value:
    """A word of the launcher as text; unknown where only the shell knows it."""
    return of(it.new("option", "", word)) if "$" in word or "`" in word else const(word)


def literal(text: str) -> object:
    """A word as the boolean, number or None that it spells, else as text."""
    spelled = {"true": True, "": True, "false": False, "none": None, "null": None}
    if text.lower() in spelled:
        return spelled[text.lower()]
    if WHOLE.fullmatch(text):
        return int(text)
    return float(text) if FRACTION.fullmatch(text) else text


def unknown_option(it: Interpreter, name: str, call: Call) -> Object:
    """A setting that only the launch decides; the run knows which conditions ask for it."""
    made = it.new("option", "", f"args.{name}", call.site)
    it.run.facts.setdefault(OPTIONS, {})[f"#{made.id}"] = name
    return made


def overridable(it: Interpreter, name: str, default: Value, call: Call) -> Value:
    """A default, and something unknown where the launch overrides it."""
    return defaults.overridable(f"args.{name}", default, unknown_option(it, name, call))


def left_out(call: Call, name: str, default: Value) -> Value:
    """The value of an option that the known launcher does not give: its default. Where the launcher passes on what it
    is given itself, which may be any option, it is that as long as nobody overrides it.
    """
    if any(_PASSED_ON.fullmatch(word) for word in launched(call.it) or ()):
        return overridable(call.it, name, default, call)
    call.run.facts[LEFT_OUT] = True
    return default


def given_argument(words: Sequence[str], flags: Sequence[str]) -> str | None:
    """What the words give for an option; "" for a bare flag, None when they do not name it."""
    wanted = {flag.replace("_", "-") for flag in flags}
    for index, word in enumerate(words):
        head, equals, tail = word.partition("=")
        if head.replace("_", "-") in wanted:
            if equals:
                return tail
            following = words[index + 1] if index + 1 < len(words) else ""
            return "" if following.startswith("--") else following
    return None


@framework.constant("sys.argv")
def command_line(it: Interpreter) -> Value:
    """The program and its arguments, as far as the launcher is known."""
    made = it.new("list", "builtins.list", "sys.argv")
    given = launched(it)
    made.open = given is None
    made.items = None if given is None else [of(it.unknown("sys.argv[0]")), *(said(it, word) for word in given)]
    return of(made)


# argparse


@framework.function("argparse.ArgumentParser")
def make_parser(call: Call) -> Value:
    """A parser; its options, and those of its parents, are read when it parses."""
    made = call.make("parser", call.name)
    made.entries = {}
    options = options_of(call.run, made)
    for holder in call.get("parents", None, NONE).objects():
        for value in holder.items or []:
            for parent in value.objects():
                options += options_of(call.run, parent)
    return of(made)


def options_of(run: Run, parser: Object) -> list[Call]:
    """The add_argument calls of a parser, in order."""
    held: list[Call] = run.facts.setdefault(f"options:{parser.id}", [])
    return held


@framework.method(
    "parser", "add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser", "set_subcommand"
)
def parser_group(call: Call) -> Value:
    """Options of a group, or of a subcommand, are the parser's own."""
    assert call.receiver is not None
    return of(call.receiver)


@framework.method("parser", "add_argument")
def add_argument(call: Call) -> Value:
    """One option more."""
    assert call.receiver is not None
    options_of(call.run, call.receiver).append(call)
    return NONE


@framework.method("parser", "set_defaults")
def set_defaults(call: Call) -> Value:
    """Defaults given apart from the options; they come before the options' own."""
    assert call.receiver is not None and call.receiver.entries is not None
    call.receiver.entries.update(call.keywords)
    call.receiver.open = call.receiver.open or call.open
    return NONE


@framework.method("parser", "parse_args", "parse_known_args")
def parse_arguments(call: Call) -> Value:
    """The namespace of options."""
    assert call.receiver is not None
    made = call.it.new("namespace", "argparse.Namespace", "args", call.site)
    words = words_of(call, 0)
    by_launch = words is not None and not _are_written(call)
    options = options_of(call.run, call.receiver)
    parser = call.receiver
    made.open = parser.open or parser.escaped or not all(flags_of(option) and not option.open for option in options)
    free = _free_words(options, words or ())
    preset = call.receiver.entries or {}
    for name, default in preset.items():
        made.attributes[name] = default if words is not None else overridable(call.it, name, default, call)
    kept = Counter(destination(option, flags) for option in options if (flags := flags_of(option)))
    for option in options:
        flags = flags_of(option)
        if flags:
            name = destination(option, flags)
            if kept[name] > 1 and words is not None and name in made.sites and given_argument(words, flags) is None:
                continue  # what another option that is kept under the same name says stands
            alone = kept[name] == 1
            value = _option(option, name, flags, words, free, preset.get(name), alone=alone, by_launch=by_launch)
            if words is not None and given_argument(words, flags) is not None:
                value = placed(value, _place(option, flags)) if by_launch else value
            elif words is not None and (call.receiver.open or not _is_named(option)):
                value = overridable(call.it, name, value, option)
            made.attributes[name] = value
            made.sites[name] = place_of(value) or option.site
    call.run.options |= made.attributes.keys()
    if call.name.endswith("parse_known_args"):
        pair = call.it.new("tuple", "", "", call.site)
        pair.items = [of(made), of(_unparsed(call, options, words) or call.it.unknown("unparsed", call.site))]
        return of(pair)
    return of(made)


def _unparsed(call: Call, options: Sequence[Call], words: tuple[str, ...] | None) -> Object | None:
    """The words that no option of the parser takes, in a list; None where that cannot be told (argparse:
    `parse_known_args`; an option may be shortened to what no other begins with).
    """
    flags = {flag: option for option in options for flag in flags_of(option)}
    if words is None or not all(flag.startswith("-") for flag in flags):
        return None
    left, taking = [], False
    for word in words:
        head, equals, _ = word.partition("=")
        meant = [flag for flag in flags if flag == head] or [flag for flag in flags if flag.startswith(head)]
        if taking and (not word.startswith("-") or FRACTION.fullmatch(word) or WHOLE.fullmatch(word)):
            taking = False
        elif word == "--" or any(word.startswith(flag) and len(flag) == 2 < len(word) for flag in flags):
            return None  # all that follows is no option, or a short one with its value in the same word
        elif word.startswith("-") and len(meant) == 1:
            option = flags[meant[0]]
            if option.open or option.gives("nargs"):
                return None
            taking = not equals and names.const_text(option.get("action")) not in VALUELESS
        else:
            left.append(said(call.it, word))
            taking = False
    made = call.it.new("list", "builtins.list", "", call.site)
    made.items = left
    return made


def words_of(call: Call, index: int | None = None) -> tuple[str, ...] | None:
    """The words that are parsed: a literal list in the call, else the launcher's; None when nobody knows."""
    given = call.get("args", index, NONE).only()
    if given == Const(None):
        return launched(call.it)
    if not isinstance(given, Object) or given.items is None or given.open or given.each:
        return launched(call.it) if isinstance(given, Object) and given.label.startswith("sys.argv") else None
    words = [value.constant() for value in given.items]
    return tuple(words) if all(isinstance(word, str) for word in words) else None


def _are_written(call: Call) -> bool:
    """Whether a list in the program itself is parsed."""
    given = call.get("args", 0, NONE).only()
    return isinstance(given, Object) and not given.label.startswith("sys.argv")


def flags_of(option: Call) -> list[str]:
    """What an option may be called, as far as the text says: a name that a caller may give has its default."""
    texts = [[item.value for _, item in value if isinstance(item, Const)] for value in option.positional]
    return [each[0] for each in texts if len(each) == 1 and isinstance(each[0], str) and each[0]]


def _is_named(option: Call) -> bool:
    """Whether an option has its name in every case."""
    return all(isinstance(value.only(), Const) for value in option.positional)


def destination(option: Call, flags: list[str]) -> str:
    """The attribute under which an option is kept."""
    chosen = next((flag for flag in flags if flag.startswith("--")), flags[0])
    return names.const_text(option.get("dest")) or chosen.lstrip("-").replace("-", "_")


def _free_words(options: Sequence[Call], words: Sequence[str]) -> list[str]:
    """The words that are neither an option nor the value of one."""
    valueless = (option for option in options if names.const_text(option.get("action")) in VALUELESS)
    bare = {flag for option in valueless for flag in flags_of(option)}
    free = []
    skip = False
    for word in words:
        if not word.startswith("-") and not skip:
            free.append(word)
        skip = word.startswith("-") and "=" not in word and word not in bare
    return free


def _option(
    option: Call,
    name: str,
    flags: list[str],
    words: Sequence[str] | None,
    free: list[str],
    default: Value | None,
    alone: bool,
    by_launch: bool,
) -> Value:
    """The value of one option, which may be `alone` under its name: from the words, which may be those of the launch,
    else the default, open to the launch when no words are known.
    """
    action = names.const_text(option.get("action"))
    stored = const(action == "store_true") if action in ("store_true", "store_false") else NOTHING
    if stored:
        default = default or option.get("default", None, const(action != "store_true"))
        if default.constant() is stored.constant() and alone and not option.open:
            return stored  # given or not
    if words is None:
        if stored:
            return of(unknown_option(option.it, name, option))
        return overridable(option.it, name, default or option.get("default", None, NONE), option)
    positional = not flags[0].startswith("-")
    given = given_argument(words, flags) if not positional else free.pop(0) if free else None
    if given == RANK:
        return environment.number(option.it, "LOCAL_RANK", option.site)
    if stored and given is not None:
        return stored
    if given is None:
        negated = any(f"--no-{name.replace('_', '-')}" == word.replace("_", "-") for word in words)
        default = default or option.get("default", None, NONE)
        return const(False) if negated else left_out(option, name, default) if by_launch else default
    if option.gives("nargs") and names.const_text(option.get("nargs")) != "?":
        return of(unknown_option(option.it, name, option))
    if action == "store_const":
        return option.get("const", None, NONE)
    return const(True) if _is_switch(option) else typed(option.it, option.get("type"), given, option)


def _place(option: Call, flags: list[str]) -> Site | None:
    """Where the command that starts the program gives an option."""
    page = command(option.it)
    action = names.const_text(option.get("action"))
    if page is None or action not in (None, "", "store", "store_true") or option.gives("nargs"):
        return None
    return page.option(flags, switch=action == "store_true")


def _is_switch(option: Call) -> bool:
    action = option.get("action").only()
    return isinstance(action, External) and action.name.endswith("BooleanOptionalAction")


def typed(it: Interpreter, kind: Value, text: str, call: Call) -> Value:
    """A word of the launcher as the type that the option asks for."""
    value = said(it, text)
    item = kind.only()
    if value.objects() or item is None or item is MISSING:
        return value
    if isinstance(item, Function):
        return it.call(kind, Call(it, call.site, "type", [value]))
    name = item.name.rsplit(".", 1)[-1] if isinstance(item, External) else ""
    try:
        return const({"int": int, "float": float, "bool": bool}.get(name, str)(text))
    except ValueError:
        return value
