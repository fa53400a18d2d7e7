"""The gate: which rules could fire at all, told by substrings of bytes before anything is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

IDENTIFIER = re.compile(r"[^\W\d]\w*")
Words = Sequence[Sequence[str]]


def vocabulary(words: Iterable[Words]) -> tuple[bytes, ...]:
    """Return every identifier that the rules' `words` name, sorted, as UTF-8 bytes."""
    return tuple(sorted({word.encode() for rule in words for choice in rule for word in choice}))


def words_of(data: bytes, known: Iterable[bytes]) -> frozenset[str]:
    """Return which of the `known` identifiers occur anywhere in `data`."""
    return frozenset([word.decode() for word in known if word in data])


class Vocabulary:
    """The `words` of rules, looked up by the identifiers of a text: each identifier is compared with them once."""

    def __init__(self, words: Iterable[str]) -> None:
        self._cores = [(word, max(IDENTIFIER.findall(word), key=len)) for word in words]
        self._held: dict[str, tuple[str, ...]] = {}

    def within(self, text: str, identifiers: Iterable[str] | None = None) -> frozenset[str]:
        """Return which words occur in the text, whose identifiers may be given."""
        maybe = set[str]()
        for name in set(IDENTIFIER.findall(text)) if identifiers is None else identifiers:
            held = self._held.get(name)
            if held is None:
                held = self._held[name] = tuple(word for word, core in self._cores if core in name)
            maybe.update(held)
        return frozenset([word for word in maybe if word.isidentifier() or word in text])


def admits(present: frozenset[str], words: Words) -> bool:
    """Return whether a rule with these `words` could fire where `present` occur.

    `words` is a conjunction of alternatives: of every inner sequence one word must be present. A rule
    without words is always admitted.
    """
    return all(not present.isdisjoint(choice) for choice in words)
