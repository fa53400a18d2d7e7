"""From bytes to text and back, by the rules of PEP 263, so that what is not edited keeps its bytes."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

BOM = codecs.BOM_UTF8
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK = re.compile(rb"^[ \t\f]*(?:#[^\r\n]*)?\Z")
_FIRST_LINES = re.compile(rb"\r\n|\n|\r")


class Undecodable(ValueError):
    """The bytes are not text in the encoding they claim; the message says which byte and on which line."""

    def __init__(self, what: str, line: int, remedy: str) -> None:
        super().__init__(what)
        self.what, self.line, self.remedy = what, line, remedy


@dataclass(frozen=True)
class Encoding:
    """How a file's text is written: a codec's name and whether a UTF-8 byte order mark leads it."""

    name: str = "utf-8"
    bom: bool = False

    def decode(self, data: bytes) -> str:
        """Return the text of `data`; raise `Undecodable` where a byte does not belong."""
        body = data[len(BOM) :] if self.bom else data
        try:
            return body.decode(self.name)
        except UnicodeDecodeError as error:
            line = len(_FIRST_LINES.findall(body[: error.start])) + 1
            raise Undecodable(
                f"byte 0x{body[error.start]:02x} is not {self.name}",
                line,
                "convert it to UTF-8, or name its encoding on the first line: # coding: latin-1",
            ) from None

    def encode(self, text: str) -> bytes:
        """Return the bytes of `text`; raise `UnicodeEncodeError` for a character the codec lacks."""
        return (BOM if self.bom else b"") + text.encode(self.name)


def python_encoding(data: bytes) -> Encoding:
    """Return the encoding that Python would read `data` with; raise `Undecodable` for an unknown one."""
    bom = data.startswith(BOM)
    head = (data[len(BOM) :] if bom else data)[:2000]
    lines = _FIRST_LINES.split(head, maxsplit=2)[:2] if b"coding" in head else ()
    for number, line in enumerate(lines, start=1):
        cookie = _COOKIE.match(line)
        if cookie:
            return _declared(cookie.group(1).decode("ascii"), bom, number)
        if not _BLANK.match(line):
            break
    return Encoding("utf-8", bom)


def plain_encoding(data: bytes) -> Encoding:
    """Return the encoding of a file that cannot declare one: UTF-8 if it is, else latin-1, which loses
    nothing.
    """
    bom = data.startswith(BOM)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return Encoding("latin-1")
    return Encoding("utf-8", bom)


def _declared(name: str, bom: bool, line: int) -> Encoding:
    try:
        found = codecs.lookup(name)
        b"".decode(found.name)
    except LookupError:
        raise Undecodable(
            f"unknown encoding {name!r}",
            line,
            "correct the coding comment or remove it (UTF-8 is the default)",
        ) from None
    if bom and found.name != "utf-8":
        raise Undecodable(
            f"a UTF-8 byte order mark, but a coding comment that says {name!r}",
            line,
            "remove one of the two",
        )
    return Encoding(found.name, bom)
