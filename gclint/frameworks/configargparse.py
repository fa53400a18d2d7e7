"""configargparse: argparse's options, which a file gives where the command line does not.

The syntax of files is that of configargparse 1.9, `DefaultConfigFileParser.parse`; of another one nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..run import names
from ..run.calls import Call
from ..run.values import NONE, Const, Object, Value, const, of
from . import argparse_parsers
from .arguments import destination, flags_of, given_argument, options_of, typed, unknown_option, words_of
from .registry import Framework

framework = Framework("configargparse", kinds={"file_parser": "parser"})

PARSERS = ("ArgumentParser", "ArgParser", "Parser", "get_argument_parser", "get_arg_parser", "get_parser")
SWITCHES = {**dict.fromkeys(("true", "yes", "on", "1"), True), **dict.fromkeys(("false", "no", "off", "0"), False)}
_LINE = re.compile(
    r"(?:--)?(?P<key>[^:=;#\s-][^:=;#\s]*)\s*(?:[:=\s]\s*(?P<quote>['\"]?)(?P<value>.+?)?(?P=quote))?\s*"
)
_COMMENT = re.compile(r"\s[;#].*$")


@framework.function(*(f"configargparse.{name}" for name in PARSERS))
def make_parser(call: Call) -> Value:
    """A parser; which files it reads is known when it parses."""
    made = argparse_parsers.make_parser(call)
    for parser in made.objects():
        parser.kind = "file_parser"
        parser.attributes["files"] = call.get("default_config_files", None, NONE)
        parser.attributes["syntax"] = call.get("config_file_parser_class", None, NONE)
    return made


@framework.method("file_parser", "parse_args", "parse_known_args", "parse", "parse_known")
def parse_arguments(call: Call) -> Value:
    """The namespace of options: what a file says stands in for their defaults; where a file cannot be read they may be
    anything that it says.
    """
    parser = call.receiver
    assert parser is not None and parser.entries is not None
    for text in _texts(call, parser):
        if text is None:
            parser.open = True
            continue
        said = dict(_settings(text))
        for option in options_of(call.run, parser):
            name = next((flag.lstrip("-") for flag in flags_of(option) if flag.lstrip("-") in said), "")
            if name:
                parser.entries[destination(option, flags_of(option))] = _value(option, name, said[name])
    return argparse_parsers.parse_arguments(call)


def _texts(call: Call, parser: Object) -> Iterator[str | None]:
    """What the files hold that a parser reads, the last one wins; None for one that cannot be read."""
    held = parser.attributes["files"].only()
    if held != Const(None):
        listed = held.items if isinstance(held, Object) and not held.open else None
        yield from [None] if listed is None else (_text(call, parser, names.const_text(value)) for value in listed)
    words = words_of(call, 0)
    for option in options_of(call.run, parser):
        if option.get("is_config_file").constant() is True or option.get("is_config_file_arg").constant() is True:
            named = given_argument(words or (), flags_of(option)) or names.const_text(option.get("default"))
            if named:
                yield _text(call, parser, named)


def _text(call: Call, parser: Object, name: str | None) -> str | None:
    path = call.it.project.file(name, call.it.module) if name else None
    source = call.it.project.source(path) if path is not None else None
    return source.text if source is not None and parser.attributes["syntax"].only() == Const(None) else None


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Each setting of a file with the text of its value."""
    for line in text.splitlines():
        line = _COMMENT.sub("", line.strip())
        found = _LINE.fullmatch(line) if line and line[0] not in "#;[" and not line.startswith("---") else None
        if found is not None:
            value = found["value"]
            yield found["key"], value if value is not None else "" if line.endswith(("=", ":")) else "true"


def _value(option: Call, name: str, text: str) -> Value:
    """What a setting gives an option."""
    action = names.const_text(option.get("action")) or "store"
    if action in ("store_true", "store_false") and text.lower() in SWITCHES:
        return const(SWITCHES[text.lower()] is (action == "store_true"))
    if action != "store" or text.startswith("[") or option.gives("nargs"):
        return of(unknown_option(option.it, name, option))
    return typed(option.it, option.get("type"), text, option)
