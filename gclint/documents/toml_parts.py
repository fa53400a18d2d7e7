"""Where the values of a TOML text stand; tomllib reads them and keeps no places."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .parts import BadText, KeyPath, Part

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_WITHIN_LINE = re.compile(r"[ \t]*")
_KEY = re.compile(r"""(?:[\w-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')""")
_STRING = re.compile(r"""\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""", re.DOTALL)
_PLAIN = re.compile(r"[^,\]}#\n]*")


def toml_parts(text: str) -> dict[KeyPath, Part]:
    """The parts of a text that tomllib reads; raises `BadText` for what it would not read."""
    return _Reader(text).read()


@dataclass
class _Reader:
    text: str
    at: int = 0
    parts: dict[KeyPath, Part] = field(default_factory=dict)
    counts: dict[KeyPath, int] = field(default_factory=dict)

    def read(self) -> dict[KeyPath, Part]:
        self.parts[()] = Part(0, 0, 0, len(self.text), "block")
        table: KeyPath = ()
        while self.skip(_SPACE) < len(self.text):
            if self.text[self.at] == "[":
                table = self.head(table)
            else:
                self.pair(table)
        return self.parts

    def skip(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at

    def take(self, sign: str) -> None:
        if not self.text.startswith(sign, self.at):
            raise BadText(f"expected `{sign}`", self.at)
        self.at += len(sign)

    def key(self) -> list[str]:
        names: list[str] = []
        while True:
            self.skip(_WITHIN_LINE)
            found = _KEY.match(self.text, self.at)
            if found is None:
                raise BadText("expected a key", self.at)
            names.append(found.group().strip("\"'"))
            self.at = found.end()
            after = self.skip(_WITHIN_LINE)
            if self.text[after : after + 1] != ".":
                self.at = found.end()
                return names
            self.at += 1

    def head(self, before: KeyPath) -> KeyPath:
        """A table's head; the table before it ends here, and it itself where the next one begins."""
        start = self.at
        self.close(before, start)
        several = self.text.startswith("[[", start)
        self.take("[[" if several else "[")
        keys = self.inner(self.key())
        if several:
            self.counts[keys] = self.counts.get(keys, -1) + 1
            keys = (*keys, self.counts[keys])
        self.skip(_WITHIN_LINE)
        self.take("]]" if several else "]")
        self.parts[keys] = Part(start, self.at, self.at, len(self.text), "block")
        return keys

    def close(self, keys: KeyPath, end: int) -> None:
        self.parts[keys] = self.parts[keys]._replace(end=end)

    def inner(self, names: list[str]) -> KeyPath:
        """The path of names, with the last element of every array of tables on the way."""
        keys: KeyPath = ()
        for place, name in enumerate(names, 1):
            keys = (*keys, name)
            if keys in self.counts and place < len(names):
                keys = (*keys, self.counts[keys])
        return keys

    def pair(self, table: KeyPath) -> None:
        start = self.at
        keys = (*table, *self.key())
        end = self.at
        self.skip(_WITHIN_LINE)
        self.take("=")
        self.skip(_WITHIN_LINE)
        self.value(keys, start, end)

    def value(self, keys: KeyPath, start: int, key_end: int) -> None:
        begin, first = self.at, self.text[self.at : self.at + 1]
        self.parts[keys] = Part(start, key_end, begin, begin, "flow" if first and first in "[{" else "scalar")
        string = _STRING.match(self.text, begin)
        if first == "[":
            self.items(keys)
        elif first == "{":
            self.inline(keys)
        elif string is not None:
            self.at = string.end()
        else:
            self.skip(_PLAIN)
            self.at = begin + len(self.text[begin : self.at].rstrip())
        self.close(keys, self.at)

    def items(self, keys: KeyPath) -> None:
        self.take("[")
        count = 0
        while self.text[self.skip(_SPACE) : self.at + 1] not in ("]", ""):
            self.value((*keys, count), self.at, self.at)
            count += 1
            self.skip(_SPACE)
            if self.text[self.at : self.at + 1] == ",":
                self.at += 1
        self.take("]")

    def inline(self, keys: KeyPath) -> None:
        self.take("{")
        while self.text[self.skip(_SPACE) : self.at + 1] not in ("}", ""):
            self.pair(keys)
            self.skip(_SPACE)
            if self.text[self.at : self.at + 1] == ",":
                self.at += 1
        self.take("}")
