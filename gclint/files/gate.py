"""The gate: which rules could fire at all, told by substrings of bytes before anything is parsed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Words = Sequence[Sequence[str]]


def vocabulary(words: Iterable[Words]) -> tuple[bytes, ...]:
    """Return every identifier that the rules' `words` name, sorted, as UTF-8 bytes."""
    return tuple(sorted({word.encode() for rule in words for choice in rule for word in choice}))


def words_of(data: bytes, known: Iterable[bytes]) -> frozenset[str]:
    """Return which of the `known` identifiers occur anywhere in `data`."""
    return frozenset([word.decode() for word in known if word in data])


def admits(present: frozenset[str], words: Words) -> bool:
    """Return whether a rule with these `words` could fire where `present` occur.

    `words` is a conjunction of alternatives: of every inner sequence one word must be present. A rule
    without words is always admitted.
    """
    return all(not present.isdisjoint(choice) for choice in words)
