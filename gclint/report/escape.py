"""Text from strangers' files and paths, made safe to print."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return `text` with control, bidirectional and surrogate characters written as escapes, on one line."""
    return _CONTROL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    named = {9: "\\t", 10: "\\n", 13: "\\r"}
    return named.get(code) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
