"""The words of a shell script: quoting, expansions, operators, comments, here-documents. Nothing raises."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_EXPANSION = 4000
MAX_UNCLOSED = 20

BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
REDIRECT = re.compile(r"\d*(?:<<<|>>|>\||[<>]&|&>>|&>|<|>)")
OPERATOR = re.compile(r"&&|\|\||;;|[;&|()\n]")
PLAIN = re.compile(r"[^\s'\"\\|&;()<>$`]+")
SIMPLE_EXPANSION = re.compile(r"\$(?:[A-Za-z_]\w*|[\d@*#?!$-])")
ARRAY_HEAD = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass(frozen=True)
class Part:
    """A piece of a word: literal text, or an expansion as it is written."""

    text: str
    quoted: bool = False
    expands: bool = False


@dataclass(frozen=True)
class Word:
    """One word, its parts not yet expanded; `line` counts from 1, `start` and `end` are offsets in the text read."""

    parts: tuple[Part, ...]
    line: int
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    @property
    def literal(self) -> str:
        """Its text without what is expanded in it."""
        return "".join(part.text for part in self.parts if not part.expands)


@dataclass(frozen=True)
class Operator:
    """A separator such as `;`, `&&` or a newline; ">" stands for any redirection, "=(" opens an array."""

    text: str
    line: int


@dataclass
class _Reader:
    text: str
    first_line: int
    at: int = 0
    parts: list[Part] = field(default_factory=list)
    word_at: int = 0
    heredocs: list[str] = field(default_factory=list)
    counted: tuple[int, int] = (0, 0)
    unclosed: int = 0

    def line(self, offset: int) -> int:
        before, lines = self.counted
        lines += self.text.count("\n", before, offset) if offset >= before else 0
        if offset >= before:
            self.counted = (offset, lines)
        return self.first_line + lines

    def word(self) -> Iterator[Word]:
        if self.parts:
            yield Word(tuple(self.parts), self.line(self.word_at), self.word_at, self.at)
            self.parts = []

    def add(self, end: int, text: str, quoted: bool = False, expands: bool = False) -> None:
        if not self.parts:
            self.word_at = self.at
        self.parts.append(Part(text, quoted, expands))
        self.at = end


def tokens(text: str, first_line: int = 1) -> Iterator[Word | Operator]:
    """The words and operators of a script, in order."""
    reader = _Reader(text, first_line)
    while reader.at < len(text):
        blank = BLANK.match(text, reader.at)
        if blank:
            yield from reader.word()
            reader.at = blank.end()
        elif text[reader.at] == "#" and not reader.parts:
            reader.at = _end_of_line(text, reader.at)
        elif text[reader.at] in "<>&|;()\n" or (text[reader.at].isdigit() and not reader.parts):
            yield from _operator(reader)
        else:
            _piece(reader)
    yield from reader.word()


def _operator(reader: _Reader) -> Iterator[Word | Operator]:
    text, at = reader.text, reader.at
    heredoc = HEREDOC.match(text, at) if text[at] == "<" and not text.startswith("<<<", at) else None
    redirect = heredoc or REDIRECT.match(text, at)
    found = redirect or OPERATOR.match(text, at)
    if found is None:
        _piece(reader)
        return
    literal = "".join(part.text for part in reader.parts)
    is_array = found.group() == "(" and ARRAY_HEAD.fullmatch(literal) is not None
    yield from reader.word()
    reader.at = found.end()
    if heredoc:
        reader.heredocs.append(heredoc.group(2))
    elif redirect:
        yield Operator(">", reader.line(at))
    else:
        yield Operator("=(" if is_array else found.group(), reader.line(at))
    if found.group() == "\n":
        _skip_heredocs(reader)


def _skip_heredocs(reader: _Reader) -> None:
    for tag in reader.heredocs:
        while reader.at < len(reader.text):
            end = _end_of_line(reader.text, reader.at)
            line = reader.text[reader.at : end].strip()
            reader.at = end + 1
            if line == tag:
                break
    reader.heredocs.clear()


def _piece(reader: _Reader) -> None:
    text, at = reader.text, reader.at
    char = text[at]
    if char == "'" and (end := text.find("'", at + 1)) > 0:
        reader.add(end + 1, text[at + 1 : end], quoted=True)
    elif char == '"' and (end := _double_end(reader, at + 1)) > 0:
        _quoted(reader, at + 1, end)
    elif char in "$`" and (end := _expansion_end(reader, at)) > 0:
        reader.add(end, text[at:end], expands=True)
    elif char == "\\" and at + 1 < len(text):
        reader.add(at + 2, text[at + 1], quoted=True)
    else:
        plain = PLAIN.match(text, at)
        end = plain.end() if plain else at + 1
        reader.add(end, text[at:end])


def _quoted(reader: _Reader, start: int, end: int) -> None:
    text, at, literal = reader.text, start, ""
    pieces: list[Part] = []
    while at < end:
        stop = _expansion_end(reader, at) if text[at] in "$`" else 0
        if stop:
            pieces += [Part(literal, quoted=True)] if literal else []
            pieces.append(Part(text[at:stop], quoted=True, expands=True))
            literal, at = "", stop
        elif text[at] == "\\" and text[at + 1] in '"\\$`\n':
            literal += "" if text[at + 1] == "\n" else text[at + 1]
            at += 2
        else:
            literal += text[at]
            at += 1
    if literal or not pieces:
        pieces.append(Part(literal, quoted=True))
    for piece in pieces:
        reader.add(end + 1, piece.text, piece.quoted, piece.expands)


def _double_end(reader: _Reader, at: int) -> int:
    text = reader.text
    while at < len(text) and reader.unclosed < MAX_UNCLOSED:
        if text[at] == "\\":
            at += 2
        elif text[at] == '"':
            return at
        elif text[at] in "$`":
            at = _expansion_end(reader, at) or at + 1
        else:
            at += 1
    reader.unclosed += 1
    return 0


def _expansion_end(reader: _Reader, at: int) -> int:
    """Where the expansion that begins at `at` ends; 0 when none begins there."""
    text = reader.text
    if text[at] == "`":
        return text.find("`", at + 1, at + MAX_EXPANSION) + 1
    opened = text[at + 1 : at + 2]
    if opened not in ("(", "{"):
        simple = SIMPLE_EXPANSION.match(text, at)
        return simple.end() if simple else 0
    if reader.unclosed >= MAX_UNCLOSED:
        return 0
    closed = ")" if opened == "(" else "}"
    depth = 0
    for end in range(at + 1, min(len(text), at + MAX_EXPANSION)):
        depth += (text[end] == opened) - (text[end] == closed)
        if depth == 0:
            return end + 1
    reader.unclosed += 1
    return 0


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def joined(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a Makefile or Dockerfile with their numbers, continued ones as one, without comments."""
    start, found = 0, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        start = start if found else number
        if raw.rstrip().endswith("\\"):
            found += raw.rstrip()[:-1] + " "
            continue
        if (found + raw).strip() and not raw.lstrip().startswith("#"):
            yield start, found + raw
        found = ""
    if found.strip():
        yield start, found
