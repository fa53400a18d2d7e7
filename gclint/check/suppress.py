"""Comments that silence findings, and what they silenced.

`# noqa`, `# noqa: GCL201, GCL5` and `# gclint: ignore[GCL201] reason` speak for the logical line they
stand on when they are on its first or last line, else for their own line; `# gclint: ignore-file` for the
file. Comments are found by tokenizing, so text in strings is none.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gclint.source.lines import split_lines
from gclint.source.source import Source

if TYPE_CHECKING:
    from tokenize import TokenInfo

_NOQA = re.compile(
    r"#\s*noqa(?P<codes>:[ \t]*(?:[A-Z]+[0-9]+|GCL)(?:[, \t]+(?:[A-Z]+[0-9]+|GCL)\b)*)?(?![\w:])",
    re.IGNORECASE | re.ASCII,
)
_OWN = re.compile(r"#\s*gclint:\s*(?P<what>ignore-file|ignore)\b\s*(?:\[(?P<codes>[^\]]*)\])?", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]+[0-9]+|GCL\b", re.IGNORECASE | re.ASCII)
_HASH_COMMENTS = frozenset({"yaml", "toml", "shell", "make", "docker", "requirements", "ini"})
_OURS = "GCL"


@dataclass(frozen=True)
class Directive:
    """A suppressing comment.

    `line` and `column` (from 1) are where its `#` is, `end_column` is exclusive. `codes` are prefixes of
    codes, None for all of them. It speaks for lines `first` to `last`, or for the whole file.
    """

    line: int
    column: int
    end_column: int
    codes: tuple[str, ...] | None
    first: int
    last: int
    whole_file: bool = False
    noqa: bool = False

    def silences(self, code: str, line: int) -> bool:
        """Return whether a finding with `code` whose first line is `line` is silenced by this comment."""
        if not self.whole_file and not self.first <= line <= self.last:
            return False
        return self.codes is None or any(code.startswith(prefix) for prefix in self.codes)


def directives(source: Source) -> list[Directive]:
    """Return the suppressing comments of `source`, in order; none where it cannot be tokenized."""
    if "noqa" not in source.text.lower() and "gclint:" not in source.text.lower():
        return []
    if source.kind in {"python", "notebook"}:
        return _of_python(source.text)
    if source.kind in _HASH_COMMENTS:
        return _of_lines(source.text)
    return []


def logical_lines(text: str) -> list[tuple[int, int]]:
    """Return the first and last line (from 1) of every logical line; what cannot be tokenized has none."""
    import tokenize

    spans: list[tuple[int, int]] = []
    first = 0
    skipped = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
    for token in _tokens(text):
        if token.type == tokenize.NEWLINE:
            spans.append((first or token.start[0], token.start[0]))
            first = 0
        elif token.type not in skipped:
            first = first or token.start[0]
    return spans


def _tokens(text: str) -> Iterator[TokenInfo]:
    """The tokens of Python text, up to where it cannot be tokenized."""
    import tokenize

    with suppress(tokenize.TokenError, SyntaxError):
        yield from tokenize.generate_tokens(io.StringIO(text, newline="").readline)


def _of_python(text: str) -> list[Directive]:
    import tokenize

    spans = logical_lines(text)
    found = (
        _directive(token.start[0], token.start[1] + 1, token.string.rstrip(), spans)
        for token in _tokens(text)
        if token.type == tokenize.COMMENT
    )
    return [directive for directive in found if directive is not None]


def _of_lines(text: str) -> list[Directive]:
    found = []
    for number, line in enumerate(split_lines(text), start=1):
        start = line.find("#")
        if start >= 0:
            found.append(_directive(number, start + 1, line[start:].rstrip(), []))
    return [directive for directive in found if directive is not None]


def _directive(line: int, column: int, comment: str, spans: list[tuple[int, int]]) -> Directive | None:
    match = _OWN.search(comment) or _NOQA.search(comment)
    if not match:
        return None
    listed = match["codes"]
    codes = None if listed is None else tuple(code.upper() for code in _CODE.findall(listed))
    own = match.re is _OWN
    whole = own and match["what"].lower() == "ignore-file"
    first, last = next(((a, b) for a, b in spans if line in (a, b)), (line, line))
    start = column + match.start()
    end = column + (len(comment) if own else match.end())
    return Directive(line, start, end, codes, first, last, whole, not own)


def is_ours(prefix: str) -> bool:
    """Return whether a code in a `# noqa` can only mean a rule of gclint."""
    return prefix.startswith(_OURS)
