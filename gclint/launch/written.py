"""Where a command stands in the file that starts a program: its words, its options, and where another one goes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gclint.launch.launched import Launch
from gclint.launch.shell_words import Word, tokens

_MAGIC = re.compile(r"^[ \t]*(?:pass  )?# magic: !*", re.MULTILINE)


class Option(NamedTuple):
    """An option of a command: offsets of its name, and of its value as it is written (empty behind a bare flag)."""

    start: int
    end: int
    value: int
    value_end: int


class Written(NamedTuple):
    """The words of a command, with their offsets in the text of its file."""

    text: str
    words: tuple[Word, ...]

    @property
    def start(self) -> int:
        """Where its first word starts."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """Where its last word ends."""
        return self.words[-1].end

    def option(self, flags: Sequence[str]) -> Option | None:
        """The option of one of these names; None where the command spells none, or several."""
        wanted = {flag.replace("_", "-") for flag in flags}
        found = []
        for at, word in enumerate(self.words):
            head, equals, _ = self.text[word.start : word.end].partition("=")
            if head.strip("\"'").replace("_", "-") not in wanted:
                continue
            if equals:
                found.append(Option(word.start, word.end, word.start + len(head) + 1, word.end))
                continue
            after = self.words[at + 1] if at + 1 < len(self.words) else None
            if after is None or self.text.startswith("--", after.start):
                found.append(Option(word.start, word.end, word.end, word.end))
            else:
                found.append(Option(word.start, after.end, after.start, after.end))
        return found[0] if len(found) == 1 else None

    def word(self, text: str) -> Word | None:
        """The word that is written so; None where there is none, or several."""
        found = [word for word in self.words if self.text[word.start : word.end] == text]
        return found[0] if len(found) == 1 else None


def written(launch: Launch, text: str) -> Written | None:
    """The command of a launch in its file's text (of a notebook the module's); None where it is not spelled out
    there, as in a list of words.
    """
    lines = text.splitlines(keepends=True)
    first = launch.line - 1
    if not 0 <= first < len(lines):
        return None
    last = first
    while last + 1 < len(lines) and lines[last].rstrip().endswith("\\"):
        last += 1
    before = sum(map(len, lines[:first]))
    region = _MAGIC.sub(lambda found: " " * len(found[0]), "".join(lines[first : last + 1]))
    own = [words for words in _commands(region) if _starts(words, launch)]
    if len(own) != 1:
        return None
    return Written(text, tuple(Word(w.parts, w.line, w.start + before, w.end + before) for w in own[0]))


def _commands(text: str) -> Iterator[list[Word]]:
    words: list[Word] = []
    for token in tokens(text):
        if isinstance(token, Word):
            words.append(token)
        elif words:
            yield words
            words = []
    if words:
        yield words


def _starts(words: Sequence[Word], launch: Launch) -> bool:
    names = {launch.program.name, *([launch.module] if launch.module else [])}
    return any(word.literal.rsplit("/", 1)[-1] in names for word in words)
