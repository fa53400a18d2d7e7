"""Options that a program requires and nobody gives: the first choice, else a small value of the right type."""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from gclint.verify.worker.shims import Replacements
from gclint.verify.worker.small import shrink_words


def install(found: Replacements, small: bool, asked: Mapping[str, str]) -> None:
    """Give argparse's required options and arguments a value where the command line has none.

    The `asked` ones are given too, by their names: "" switches one on, variables of the environment stand for values.
    `small`: numbers of short options (`-b 64`) become smaller, as those of long ones do.
    """
    parse = argparse.ArgumentParser.parse_known_args

    @functools.wraps(parse)
    def parse_filled(self: Any, args: Any = None, namespace: Any = None, *more: Any, **also: Any) -> Any:
        if small:
            words = tuple(_words() if args is None else args)
            args = list(shrink_words(words, _long_names(self)))
            if args != [*words]:
                found.note(f"options: {' '.join(args)}")
        added = _added(self, _words() if args is None else args, asked)
        if added:
            args = [*map(os.path.expandvars, added), *(_words() if args is None else args)]
            found.note(f"options that the finding asks for: {' '.join(added)}")
        wanted = [each for each in self._actions if each.required and each.option_strings]
        given = {word.partition("=")[0] for word in (_words() if args is None else args)}
        for action in wanted:
            if not given & set(action.option_strings):
                action.required = False
                action.default = value_of(action)
                found.note(f"{action.option_strings[-1]} is required and not given: {action.default!r}")
        return parse(self, args, namespace, *more, **also)

    argparse.ArgumentParser.parse_known_args = parse_filled  # type: ignore[method-assign]
    argparse.ArgumentParser.error = _telling(argparse.ArgumentParser.error)  # type: ignore[method-assign]


def _telling(refuse: Any) -> Any:
    """What a parser says of words that it does not take, kept with the end of the program that it makes of them."""

    @functools.wraps(refuse)
    def refuse_told(self: Any, message: str) -> Any:
        try:
            refuse(self, message)
        except SystemExit as end:
            end.told = message  # type: ignore[attr-defined]
            raise

    return refuse_told


def _added(parser: argparse.ArgumentParser, words: Sequence[str], asked: Mapping[str, str]) -> list[str]:
    """The words, variables not expanded, that give a parser those of its options that are asked for and not given."""
    given = {word.partition("=")[0] for word in words}
    added = []
    for action in parser._actions:
        if action.dest in asked and action.option_strings and not given & set(action.option_strings):
            value = asked[action.dest]
            if (action.nargs == 0) is not bool(value):
                added.append(action.option_strings[-1] + (f"={value}" if value else ""))
    return added


def _long_names(parser: argparse.ArgumentParser) -> dict[str, str]:
    named = [each.option_strings for each in parser._actions if each.option_strings]
    return {word: names[-1] for names in named for word in names if not word.startswith("--")}


def value_of(action: Any) -> Any:
    """A value that an option takes."""
    if action.choices:
        return next(iter(action.choices))
    one: Any = {int: 1, float: 0.1, bool: True}.get(action.type)
    if one is None:
        one = action.dest if action.type in (None, str) else _made(action)
    many = action.nargs in ("*", "+") or isinstance(action.nargs, int)
    return [one] * (action.nargs if isinstance(action.nargs, int) else 1) if many else one


def _made(action: Any) -> Any:
    for text in (action.dest, "1", "0.1"):
        try:
            return action.type(text)
        except (TypeError, ValueError, argparse.ArgumentTypeError):
            continue
    return None


def _words() -> list[str]:
    import sys

    return sys.argv[1:]
