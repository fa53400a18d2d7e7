"""A launcher's own options, told apart from the program and its arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """The options before the program (names without dashes, `-` as `_`) and the words from the program on."""

    given: tuple[tuple[str, str], ...]
    rest: tuple[str, ...]

    def first(self, *names: str) -> str | None:
        """The value of the last option that bears one of the names; None when there is none."""
        return next((value for name, value in reversed(self.given) if name in names), None)

    def has(self, name: str) -> bool:
        """Whether the option is given, with or without a value."""
        return any(name == given for given, _ in self.given)


def read_options(words: Sequence[str], flags: frozenset[str], letters: bool = False) -> Options:
    """Split a launcher's words. An option outside `flags` takes the next word unless it has `=`.

    `letters`: behind a single dash stands one letter with its value (`-c8`), or letters that are flags.
    """
    given: list[tuple[str, str]] = []
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        name, has_value, value = words[at].lstrip("-").partition("=")
        name = name.replace("-", "_")
        at += 1
        if words[at - 1] == "--":
            break
        short = re.fullmatch(r"([A-Za-z])(.+)" if letters and words[at - 1][1] != "-" else r"([nN])(\d+)", name)
        if short:
            name, value, has_value = short[1], short[2], "="
        if not has_value and name not in flags and at < len(words) and not words[at].startswith("-"):
            value = words[at]
            at += 1
        given.append((name, value))
    return Options(tuple(given), tuple(words[at:]))


def whole(text: str | None) -> int | None:
    """The number a word is, None when it is none (a range, "auto", an unknown variable)."""
    return int(text) if text is not None and re.fullmatch(r"\d{1,9}", text.strip()) else None
