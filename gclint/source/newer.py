"""Python newer than the one that runs, written back to what that one reads, every line and column where it was."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, cast

from .lines import line_starts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import libcst as cst
    from libcst.metadata import CodeRange


def without_newer(text: str) -> str | None:
    """Return `text` with what only a newer Python reads blanked: type parameters, the star of `except*`, the word
    `type` of an alias, the insides of strings in which it refuses what stands in braces, and of the types that an
    `except` names without parentheses all but the first. None where LibCST does not read the text.
    """
    import libcst as cst
    from libcst.metadata import PositionProvider

    try:
        tree = cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError, ValueError):
        return None
    provider = PositionProvider()
    provider._gen_impl(tree)
    starts, written = line_starts(text), text
    for node, place in cast("Mapping[cst.CSTNode, CodeRange]", provider._computed).items():
        start, end = (starts[at.line - 1] + at.column for at in (place.start, place.end))
        held = written[start:end]
        if isinstance(node, cst.TypeParameters):
            new = _blank(held)
        elif isinstance(node, (cst.ExceptHandler, cst.ExceptStarHandler)):
            new = _caught(held, isinstance(node.type, cst.Tuple) and not node.type.lpar)
        elif isinstance(node, cst.TypeAlias):
            new = re.sub(r"\Atype(\s+)(\w+)", r"\2\1    ", held)
        elif isinstance(
            node, (cst.FormattedString, getattr(cst, "TemplatedString", cst.FormattedString))
        ) and not _is_read(held):
            new = _emptied(held)
        else:
            continue
        written = written[:start] + new + written[end:]
    return written


def _caught(text: str, bare: bool) -> str:
    """A handler without its star; of several types without parentheses (`bare`) it names the first alone."""
    text = re.sub(r"\Aexcept(\s*)\*", r"except\1 ", text)
    return re.sub(r",[^:]*", lambda found: _blank(found[0]), text, count=1) if bare else text


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def _is_read(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _emptied(text: str) -> str:
    """An f-string as a string of blanks, as long."""
    if len(text) < 6:
        return '""' + " " * (len(text) - 2)
    return f'"""{_blank(text[3:-3])}"""'
