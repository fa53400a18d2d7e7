"""Whether an edited configuration file or launcher still is what it was, but for what was to change."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from gclint.documents.proof import Piece, fault_of
from gclint.fix.edits import Span
from gclint.fix.soundness import Unsound
from gclint.ir.configs import DocumentError, read_document
from gclint.launch.shell_words import Word, tokens
from gclint.source.source import Source

DOCUMENTS = ("yaml", "json", "toml")
LAUNCHERS = ("shell", "make", "docker", "other")


def check_settings(source: Source, new: str, spans: Sequence[Span]) -> None:
    """Raise `Unsound` unless a file that is no Python has with the text `new`, made by `spans`, another value for each
    of them and nothing else changed.
    """
    if source.kind in DOCUMENTS:
        check_document(source, new, spans)
    elif source.kind in LAUNCHERS:
        check_command(source, new, spans)


def check_document(source: Source, new: str, spans: Sequence[Span]) -> None:
    """Raise `Unsound` unless every edit of a document gives one value, and all others are as they were."""
    try:
        before = read_document(source.text, Path(source.path))
        after = read_document(new, Path(source.path))
    except DocumentError as error:
        raise Unsound(f"it would not be read: {error}") from None
    wrong = fault_of(before, after, pieces(spans))
    if wrong:
        raise Unsound(f"{source.path}: {wrong}")


def pieces(spans: Sequence[Span]) -> list[Piece]:
    """The spans of a text, each with its place in the text after them."""
    shifts = accumulate((len(span.text) - (span.end - span.start) for span in spans), initial=0)
    return [
        Piece(span.start, span.end, span.start + shift, span.start + shift + len(span.text))
        for span, shift in zip(spans, shifts, strict=False)
    ]


def check_command(source: Source, new: str, spans: Sequence[Span]) -> None:
    """Raise `Unsound` unless the words of a launcher's text outside the edits are the same, and no command begins or
    ends with the edits.
    """
    places = pieces(spans)
    before = _words(source.text, [(piece.start, piece.end) for piece in places])
    after = _words(new, [(piece.start_after, piece.end_after) for piece in places])
    for word in before.touched:
        if any(part.expands for part in word.parts):
            raise Unsound(f"{source.path}: `{source.text[word.start : word.end]}` is put in by the shell: set it there")
    if before.untouched != after.untouched or any(part.expands for word in after.touched for part in word.parts):
        raise Unsound(f"{source.path}: another command would be run")


class _Words(NamedTuple):
    """What a shell reads outside some ranges, operators among it, and the words within them."""

    untouched: list[object]
    touched: list[Word]


def _words(text: str, ranges: Sequence[tuple[int, int]]) -> _Words:
    found = _Words([], [])
    for token in tokens(text):
        if not isinstance(token, Word):
            found.untouched.append(token.text)
        elif any(start < token.end and token.start < end for start, end in ranges):
            found.touched.append(token)
        else:
            found.untouched.append(token.parts)
    return found
