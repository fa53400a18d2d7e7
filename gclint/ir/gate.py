"""The gate: which rules could fire at all, told by substrings of bytes before anything is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from keyword import iskeyword
from typing import NamedTuple

IDENTIFIER = re.compile(r"[^\W\d]\w*")
Words = Sequence[Sequence[str]]
_APART = bytes(code if code > 127 or chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))


def unless(word: str, *ends: str) -> str:
    """Return the word that counts where `word` stands and none of `ends` follows, whatever the space between."""
    return "\0".join((word, *ends))


def where(word: str, pattern: str) -> str:
    """Return the word that counts where a regular expression matches from the start of a line in which `word` stands;
    `$` is the end of a line.
    """
    return "\0".join((word, "", pattern))


def spelled(word: str) -> str:
    """Return what must stand in a text for a word to count."""
    return word.partition("\0")[0]


def counts(word: str, text: str) -> bool:
    """Return whether a word counts in a text."""
    start, pattern, by_line = _told(word)
    if pattern is None or start not in text:
        return start in text
    return _some_line(start, pattern, text) if by_line else pattern.search(text) is not None


def _some_line(start: str, pattern: re.Pattern[str], text: str) -> bool:
    """Whether a pattern matches one of the lines that hold a word."""
    at = text.find(start)
    while at >= 0:
        if pattern.match(text, text.rfind("\n", 0, at) + 1) is not None:
            return True
        end = text.find("\n", at)
        at = text.find(start, end) if end >= 0 else -1
    return False


@cache
def _told(word: str) -> tuple[str, re.Pattern[str] | None, bool]:
    """What must stand in a text, and the pattern to look for besides: whether it is that of a whole line."""
    start, *ends = word.split("\0")
    if not ends:
        return start, None, False
    if not ends[0]:
        return start, re.compile(ends[1], re.MULTILINE), True
    return start, re.compile(rf"{re.escape(start)}(?!\s*(?:{'|'.join(map(re.escape, ends))}))"), False


def identifiers_in(text: str) -> set[str]:
    """Return every identifier and number of a text, in strings and comments too; many times faster than a regex."""
    apart = text.encode("utf-8", "surrogatepass").translate(_APART)
    return set(b" ".join(set(apart.split())).decode("utf-8", "surrogatepass").split(" "))


class _Core(NamedTuple):
    """The longest identifier of a word, keywords last: a part of one of the text's where the word `begins` or `ends`
    with it, else one of them.
    """

    word: str
    name: str
    begins: bool
    ends: bool

    def is_in(self, name: str) -> bool:
        """Whether the word may occur where this identifier does."""
        if self.begins:
            return self.name in name if self.ends else name.endswith(self.name)
        return name.startswith(self.name) if self.ends else name == self.name


def _core(word: str) -> _Core:
    text = spelled(word)
    found = max(IDENTIFIER.finditer(text), key=lambda match: (not iskeyword(match[0]), len(match[0])))
    begins = found.start() == 0 or text[found.start() - 1].isdigit()
    return _Core(word, found[0], begins, found.end() == len(text))


class Vocabulary:
    """The `words` of rules, looked up by the identifiers of a text: each identifier is compared with them once."""

    def __init__(self, words: Iterable[str]) -> None:
        self._cores = [_core(word) for word in words]
        self._seen: set[str] = set()
        self._together: dict[frozenset[str], frozenset[str]] = {}
        self._held: dict[str, tuple[str, ...]] = {}
        self._among: frozenset[str] | None = None

    def among(self, words: frozenset[str]) -> Vocabulary:
        """Return the same for parts of a text in which these words occur: no others are looked for, but those that tell
        of a whole line, which may be another one in a part.
        """
        made = Vocabulary(())
        made._cores, made._seen, made._together, made._held = self._cores, self._seen, self._together, self._held
        made._among = words
        return made

    def within(self, text: str, identifiers: AbstractSet[str] | None = None) -> frozenset[str]:
        """Return which words occur in the text, whose identifiers may be given."""
        maybe = self.perhaps(identifiers_in(text) if identifiers is None else identifiers)
        if self._among is not None:
            maybe = {word for word in maybe if word in self._among or not word.isprintable()}
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
        self._seen.intersection_update(self._held)

    def _learn(self, identifiers: AbstractSet[str]) -> None:
        self._seen |= identifiers
        together = " ".join(identifiers)
        cores = [core for core in self._cores if core.name in together]
        for name in identifiers if cores else ():
            held = tuple(core.word for core in cores if core.name in name and core.is_in(name))
            if held:
                self._held[name] = held


def admits(present: frozenset[str], words: Words) -> bool:
    """Return whether a rule with these `words` could fire where `present` occur.

    `words` is a conjunction of alternatives: of every inner sequence one word must be present. A rule
    without words is always admitted.
    """
    return all(not present.isdisjoint(choice) for choice in words)
