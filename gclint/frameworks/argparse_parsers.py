"""argparse: parsers, their options, groups and subcommands, and the namespace that they give.

Of subcommands the words of the launch choose one: the first that is no option and no value of one; what follows is
parsed by that command's own parser (docs: library/argparse.html#sub-commands). With no words known it may be any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..ir.syntax import Site
from ..run import environment, names
from ..run.calls import Call
from ..run.commands import command
from ..run.comparison import equality
from ..run.guards import ALWAYS, Guard, complement, conj, either
from ..run.jumps import RAISE, leave
from ..run.pages import place_of, placed
from ..run.run import Run
from ..run.values import NONE, NOTHING, TRUE, Const, External, Object, Value, const, of, sources, union
from .arguments import (
    FRACTION,
    RANK,
    VALUELESS,
    WHOLE,
    destination,
    flags_of,
    given_argument,
    is_command_line,
    left_out,
    options_of,
    overridable,
    said,
    typed,
    unknown_option,
    words_of,
)
from .registry import Framework

framework = Framework("argparse")


@framework.function("argparse.ArgumentParser")
def make_parser(call: Call) -> Value:
    """A parser; its options, and those of its parents, are read when it parses."""
    made = call.make("parser", call.name)
    made.entries = {}
    if not call.open and not call.gives("conflict_handler"):
        call.run.facts[f"flags:{made.id}"] = set[str]()
    options = options_of(call.run, made)
    for holder in call.get("parents", None, NONE).objects():
        for value in holder.items or []:
            for parent in value.objects():
                options += options_of(call.run, parent)
    return of(made)


@framework.method("parser", "add_argument_group", "add_mutually_exclusive_group", "add_parser", "set_subcommand")
def parser_group(call: Call) -> Value:
    """Options of a group are the parser's own, as those of a subcommand of a library's parser."""
    assert call.receiver is not None
    return of(call.receiver)


@framework.method("parser", "add_argument")
def add_argument(call: Call) -> Value:
    """One option more; argparse refuses a name that another has (`conflict_handler="error"`, its default)."""
    assert call.receiver is not None
    taken: set[str] | None = call.run.facts.get(f"flags:{call.receiver.id}")
    if taken is not None and call.it.guard <= call.run.assumed:
        if not taken.isdisjoint(flags_of(call)):
            leave(call.it, RAISE, of(External("argparse.ArgumentError")))
            return NOTHING
        taken.update(flags_of(call))
    options_of(call.run, call.receiver).append(call)
    return NONE


@framework.method("parser", "set_defaults")
def set_defaults(call: Call) -> Value:
    """Defaults given apart from the options; they come before the options' own."""
    assert call.receiver is not None and call.receiver.entries is not None
    call.receiver.entries.update(call.keywords)
    call.receiver.sites.update({name: call.place(name) for name in call.keywords})
    call.receiver.open = call.receiver.open or call.open
    return NONE


@framework.method("parser", "add_subparsers")
def add_subparsers(call: Call) -> Value:
    """What makes the parsers of subcommands; of a library's parser that reads more than words they are its own."""
    assert call.receiver is not None
    if call.receiver.kind != "parser":
        return of(call.receiver)
    made = call.it.new("subcommands", "", "subcommands", call.site)
    call.run.facts[f"subcommands:{call.receiver.id}"] = _Subcommands(call, [])
    call.run.facts[f"commands:{made.id}"] = call.run.facts[f"subcommands:{call.receiver.id}"]
    return of(made)


@framework.method("subcommands", "add_parser")
def add_parser(call: Call) -> Value:
    """The parser of one subcommand."""
    assert call.receiver is not None
    made = make_parser(call)
    given = [call.get("name", 0), *(value for item in call.get("aliases").objects() for value in item.items or ())]
    called = [text for value in given if (text := names.const_text(value))]
    held: _Subcommands = call.run.facts[f"commands:{call.receiver.id}"]
    held.parsers.extend((tuple(called), parser) for parser in made.objects())
    return made


class _Subcommands(NamedTuple):
    """The call of `add_subparsers`, and the parser of each command with all that it is called."""

    call: Call
    parsers: list[tuple[tuple[str, ...], Object]]

    @property
    def kept_as(self) -> str:
        return names.const_text(self.call.get("dest")) or ""


class _Part(NamedTuple):
    """What the namespace gets under a name, and where that is said."""

    name: str
    guard: Guard
    value: Value
    site: Site | None


def every_option(run: Run, parser: Object) -> list[Call]:
    """The add_argument calls of a parser and of the parsers of its subcommands."""
    held: _Subcommands | None = run.facts.get(f"subcommands:{parser.id}")
    below = [each for _, one in held.parsers for each in every_option(run, one)] if held is not None else []
    return [*options_of(run, parser), *below]


@framework.method("parser", "parse_args", "parse_known_args")
def parse_arguments(call: Call) -> Value:
    """The namespace of options."""
    assert call.receiver is not None
    parser = call.receiver
    made = call.it.new("namespace", "argparse.Namespace", "args", call.site)
    words = words_of(call, 0)
    by_launch = words is not None and not _are_written(call)
    options = every_option(call.run, parser)
    made.open = parser.open or parser.escaped or not all(flags_of(option) and not option.open for option in options)
    parts: dict[str, list[_Part]] = {}
    for part in _parts(call, parser, words, by_launch, ALWAYS):
        parts.setdefault(part.name, []).append(part)
        if part.site is not None:
            made.sites[part.name] = part.site
    made.attributes.update({name: _joined(held) for name, held in parts.items()})
    call.run.options |= made.attributes.keys()
    if call.name.endswith("parse_known_args"):
        pair = call.it.new("tuple", "", "", call.site)
        pair.items = [of(made), of(_unparsed(call, options, words) or call.it.unknown("unparsed", call.site))]
        return of(pair)
    return of(made)


def _joined(parts: list[_Part]) -> Value:
    """The value of a name: the last one that is always given, and those of commands of which any may be chosen."""
    always = [part.value for part in parts if part.guard == ALWAYS]
    chosen = [part for part in parts if part.guard != ALWAYS]
    if not chosen or (len(chosen) == 1 and not always):
        return parts[-1].value
    left = complement(either(part.guard for part in chosen))
    return union([*(value.under(left) for value in always[-1:]), *(part.value.under(part.guard) for part in chosen)])


@framework.method("unknown", "parse_args", "parse_known_args")
def parse_by_what_comes_back(call: Call) -> Value | None:
    """The namespace of a parser that was given to code which nobody knows, and of which this came back: it has the same
    options and may have more.
    """
    assert call.receiver is not None
    parsers = [item for item in sources(of(call.receiver)) if item.kind == "parser"]
    if not parsers:
        return None
    found = []
    for parser in parsers:
        held, parser.open = parser.open, True
        found.append(names.call_method(call.it, parser, call.last, call.site, call.positional, call.keywords))
        parser.open = held
    return union(found)


def _parts(call: Call, parser: Object, words: tuple[str, ...] | None, by_launch: bool, guard: Guard) -> Iterator[_Part]:
    """What a parser gives the namespace, and then the parsers of the commands that are chosen."""
    held: _Subcommands | None = call.run.facts.get(f"subcommands:{parser.id}")
    at = _place_of_command(options_of(call.run, parser), held, words) if held is not None and words else None
    own = words if at is None or words is None else words[:at]
    yield from (part._replace(guard=guard) for part in _own_parts(call, parser, own, by_launch))
    if held is None:
        return
    if at is not None and words is not None:
        word = words[at]
        if held.kept_as:
            yield _Part(held.kept_as, guard, const(word), held.call.site)
        chosen = next(one for called, one in held.parsers if word in called)
        yield from _parts(call, chosen, words[at + 1 :], by_launch, guard)
        return
    asked = unknown_option(call.it, held.kept_as or "command", held.call)
    if held.kept_as:
        yield _Part(held.kept_as, guard, of(asked), held.call.site)
    for called, one in held.parsers:
        is_it = equality(call.it, asked, Const(called[0]))[0][0] if called else ALWAYS
        further = conj(guard, is_it)
        if further is not None:
            yield from _parts(call, one, None, by_launch, further)


def _place_of_command(options: Sequence[Call], held: _Subcommands, words: Sequence[str]) -> int | None:
    """Where the words name a command."""
    known = {name for called, _ in held.parsers for name in called}
    return next((at for at in _free_places(options, words) if words[at] in known), None)


def _own_parts(call: Call, parser: Object, words: tuple[str, ...] | None, by_launch: bool) -> Iterator[_Part]:
    """What a parser's own defaults and options give."""
    options = options_of(call.run, parser)
    free = [words[at] for at in _free_places(options, words)] if words else []
    preset = parser.entries or {}
    kept = Counter(destination(option, flags) for option in options if (flags := flags_of(option)))
    for name, default in preset.items():
        fixed = words is not None or not (name in kept or parser.open)  # what is no option nobody can give
        yield _Part(name, ALWAYS, default if fixed else overridable(call.it, name, default, call), None)
    told = set[str]()
    for option in options:
        flags = flags_of(option)
        if flags:
            name = destination(option, flags)
            given = words is not None and given_argument(words, flags) is not None
            if kept[name] > 1 and words is not None and name in told and not given:
                continue  # what another option that is kept under the same name says stands
            alone = kept[name] == 1
            value = _option(option, name, flags, words, free, preset.get(name), alone=alone, by_launch=by_launch)
            if given:
                value = placed(value, _place(option, flags)) if by_launch else value
            elif words is not None and (parser.open or not _is_named(option)):
                value = overridable(call.it, name, value, option)
            told.add(name)
            yield _Part(name, ALWAYS, value, place_of(value) or option.site)


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


def _are_written(call: Call) -> bool:
    """Whether a list in the program itself is parsed."""
    given = call.get("args", 0, NONE).only()
    return isinstance(given, Object) and not is_command_line(given)


def _is_named(option: Call) -> bool:
    """Whether an option has its name in every case."""
    return all(isinstance(value.only(), Const) for value in option.positional)


def _free_places(options: Sequence[Call], words: Sequence[str]) -> list[int]:
    """The places of the words that are neither an option nor the value of one."""
    valueless = (option for option in options if names.const_text(option.get("action")) in VALUELESS)
    bare = {flag for option in valueless for flag in flags_of(option)}
    free = []
    skip = False
    for at, word in enumerate(words):
        if not word.startswith("-") and not skip:
            free.append(at)
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
    elif _is_bool(option) and alone and not option.open:
        default = default or option.get("default", None, NONE)
        if default.constant() is True:
            return TRUE  # given or not: of a word it is true
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
    if action == "store_const" or (option.gives("nargs") and not given):
        return option.get("const", None, NONE)
    return const(True) if _is_switch(option) else typed(option.it, option.get("type"), given, option)


def _is_bool(option: Call) -> bool:
    """Whether an option asks for `bool`, true of every word but the empty one (docs: library/argparse.html)."""
    return option.get("type").only() == External("builtins.bool") and not option.gives("nargs")


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
