"""What a shell makes of a word: its variables put in, as far as they are known; the rest stays as it is written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gclint.launch.shell_words import Part, Word, tokens

WITH_DEFAULT = re.compile(r"\$\{(\w+):?[-=](.*)\}", re.DOTALL)
NAMED = re.compile(r"\$\{?(\w+)\}?")
WHOLE_ARRAY = re.compile(r"\$(?:\{(\w+)\[[@*]\]\}|\{?([@*])\}?)")
APART = re.compile(r"(?:\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\S)+")
"""The words of a value: what a command in it gives is not known, and so is not divided."""
MAX_DEPTH = 4
Values = Mapping[str, str]


def expanded(word: Word, values: Values, arrays: Mapping[str, Sequence[str]]) -> list[str]:
    """The word's text with variables put in; an array or an unquoted variable may give several words."""
    if len(word.parts) == 1 and word.parts[0].expands:
        only = word.parts[0]
        array = WHOLE_ARRAY.fullmatch(only.text)
        if array:
            return list(arrays.get(array[1] or array[2], [only.text]))
        value = _value(only.text, values)
        return APART.findall(value) if not only.quoted and value != only.text else [value]
    return ["".join(part_text(part, values) for part in word.parts)]


def part_text(part: Part, values: Values) -> str:
    """The text of a piece of a word, expanded."""
    return _value(part.text, values) if part.expands else part.text


def _value(expansion: str, values: Values, depth: int = 0) -> str:
    default = WITH_DEFAULT.fullmatch(expansion)
    if default:
        known = values.get(default.group(1))
        if known is not None and known != "":
            return known
        return _substituted(default.group(2), values, depth + 1)
    named = NAMED.fullmatch(expansion)
    return values.get(named.group(1), expansion) if named else expansion


def _substituted(text: str, values: Values, depth: int) -> str:
    if depth > MAX_DEPTH:
        return text
    found = next(tokens(text), None)
    if not isinstance(found, Word):
        return text
    return "".join(_value(part.text, values, depth) if part.expands else part.text for part in found.parts)
