"""Whether an edited configuration file still is what it was, but for what was to change."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from gclint.analysis.configs import DocumentError, read_document
from gclint.documents.proof import Piece, fault_of
from gclint.files.source import Source
from gclint.fix.edits import Span
from gclint.fix.soundness import Unsound

KINDS = ("yaml", "json", "toml")


def check_document(source: Source, new: str, spans: Sequence[Span]) -> None:
    """Raise `Unsound` unless a document with the text `new`, made by `spans`, has another value for each of them and
    nothing else changed.
    """
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
