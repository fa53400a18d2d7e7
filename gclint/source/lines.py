"""Lines as Python counts them: ended by LF, CRLF or a lone CR, and by nothing else."""

from __future__ import annotations

import re

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")


def split_lines(text: str) -> list[str]:
    """Return the lines of `text` with their endings.

    Unlike `str.splitlines`, a form feed or U+2028 does not end a line, as in Python's own tokenizer.
    """
    if "\r" in text:
        return _LINE.findall(text)
    *lines, last = text.split("\n")
    return [line + "\n" for line in lines] + ([last] if last else [])


def line_starts(text: str) -> list[int]:
    """Return the offset in code points of every line, and of the end of the text.

    A text that ends in a newline (or is empty) has one more, empty, last line.
    """
    starts = [0]
    for line in split_lines(text):
        starts.append(starts[-1] + len(line))
    if not text or text[-1] in "\r\n":
        starts.append(len(text))
    return starts


def newline_of(text: str) -> str:
    """Return the newline most lines of `text` end with: LF, CRLF or CR; LF where there is none."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    cr = text.count("\r") - crlf
    if crlf > lf and crlf >= cr:
        return "\r\n"
    return "\r" if cr > lf else "\n"


def with_newlines(text: str, newline: str) -> str:
    """Return `text` with each of its line endings replaced by `newline`."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return plain if newline == "\n" else plain.replace("\n", newline)
