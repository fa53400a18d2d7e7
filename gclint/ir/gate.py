"""The gate: which rules could fire at all, told by substrings of bytes before anything is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

IDENTIFIER = re.compile(r"[^\W\d]\w*")
Words = Sequence[Sequence[str]]
_APART = bytes(code if code > 127 or chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))


def unless(word: str, *ends: str) -> str:
    """Return the word that counts where `word` stands and none of `ends` follows, whatever the space between."""
    return "\0".join((word, *ends))


def spelled(word: str) -> str:
    """Return what must stand in a text for a word to count."""
    return word.partition("\0")[0]


def counts(word: str, text: str) -> bool:
    """Return whether a word counts in a text."""
    if "\0" not in word:
        return word in text
    start, *ends = word.split("\0")
    return re.search(rf"{re.escape(start)}(?!\s*(?:{'|'.join(map(re.escape, ends))}))", text) is not None


def identifiers_in(text: str) -> set[str]:
    """Return every identifier and number of a text, in strings and comments too; many times faster than a regex."""
    apart = text.encode("utf-8", "surrogatepass").translate(_APART)
    return set(b" ".join(set(apart.split())).decode("utf-8", "surrogatepass").split(" "))


class Vocabulary:
    """The `words` of rules, looked up by the identifiers of a text: each identifier is compared with them once."""

    def __init__(self, words: Iterable[str]) -> None:
        self._cores = [(word, max(IDENTIFIER.findall(spelled(word)), key=len)) for word in words]
        self._seen: set[str] = set()
        self._together: dict[frozenset[str], frozenset[str]] = {}
        self._held: dict[str, tuple[str, ...]] = {}

    def within(self, text: str, identifiers: AbstractSet[str] | None = None) -> frozenset[str]:
        """Return which words occur in the text, whose identifiers may be given."""
        maybe = self.perhaps(identifiers_in(text) if identifiers is None else identifiers)
        found = frozenset([word for word in maybe if word.isidentifier() or counts(word, text)])
        return self._together.setdefault(found, found)

    def perhaps(self, identifiers: AbstractSet[str]) -> set[str]:
        """Return the words that a text with these identifiers may hold."""
        fresh = identifiers - self._seen
        if fresh:
            self._learn(fresh)
        return {word for name in self._held.keys() & identifiers for word in self._held[name]}

    def forget(self) -> None:
        """Drop the identifiers that hold no word, of which a large project has hundreds of thousands."""
        self._seen = set(self._held)

    def _learn(self, identifiers: AbstractSet[str]) -> None:
        self._seen |= identifiers
        together = " ".join(identifiers)
        cores = [(word, core) for word, core in self._cores if core in together]
        for name in identifiers if cores else ():
            held = tuple(word for word, core in cores if core in name)
            if held:
                self._held[name] = held


def admits(present: frozenset[str], words: Words) -> bool:
    """Return whether a rule with these `words` could fire where `present` occur.

    `words` is a conjunction of alternatives: of every inner sequence one word must be present. A rule
    without words is always admitted.
    """
    return all(not present.isdisjoint(choice) for choice in words)
