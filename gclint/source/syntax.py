"""Whether a text is Python, and what is wrong with one that is not, in the words of Python's own parser."""

from __future__ import annotations

import ast
import warnings
from contextlib import suppress
from typing import NamedTuple

from gclint.source.depth import too_deep

MARKERS = ("<<<<<<< ", "=======\n", ">>>>>>> ")
NO_FEATURE = "no_such_feature_of_python"
UNFINISHED = "a merge was not finished, its conflict markers stand here"


class SyntaxFault(NamedTuple):
    """What is wrong, and where: line and column from 1."""

    message: str
    line: int
    column: int


def tree_of(text: str) -> ast.Module:
    """Return the tree of `text`, silently; raises what `ast.parse` raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def any_tree_of(text: str) -> ast.Module:
    """Return the tree of `text`, also where it is newer Python than this one: that is then written back to what this
    one reads. Raises what `ast.parse` raises.
    """
    try:
        return tree_of(text)
    except SyntaxError:
        if too_deep(text):
            raise
        from .newer import without_newer

        older = without_newer(text)
        if older is None or older == text:
            raise
        with suppress(SyntaxError):
            return tree_of(older)
        raise


def is_python(text: str) -> bool:
    """Return whether `text` parses, as Python of any version; one that is nested too deeply to tell counts as one that
    does.
    """
    try:
        any_tree_of(text)
    except (SyntaxError, ValueError):
        return False
    except (RecursionError, MemoryError):
        return True
    return True


def parses(text: str) -> bool:
    """Return whether this Python's own parser reads `text`, for two thirds of what `ast.parse` takes: no tree is made,
    as the feature that it is made to ask for first does not exist.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(f"from __future__ import {NO_FEATURE}\n{text}", "", "exec", dont_inherit=True)
        except SyntaxError as error:
            return error.lineno == 1 and NO_FEATURE in (error.msg or "")
        except UNREADABLE:
            return False
    return True


def syntax_error(text: str) -> SyntaxFault | None:
    """Return what is wrong with Python `text`, None when it is right.

    Text that this Python's own parser refuses is tried with LibCST, which knows newer and older syntax.
    """
    fault = fault_here(text)
    return None if fault is None or _parses_elsewhere(text) else fault


def fault_here(text: str) -> SyntaxFault | None:
    """Return what this Python's own parser finds wrong with `text`, None when it is right."""
    try:
        tree_of(text)
    except UNREADABLE as error:
        return fault_of(error)
    return None


UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def fault_of(error: BaseException) -> SyntaxFault:
    """Return what one of the errors `UNREADABLE`, which parsing raises, says is wrong."""
    if isinstance(error, SyntaxError):
        if (error.text or "").startswith(MARKERS):
            return SyntaxFault(UNFINISHED, max(error.lineno or 1, 1), 1)
        return SyntaxFault(error.msg or "invalid syntax", max(error.lineno or 1, 1), max(error.offset or 1, 1))
    return SyntaxFault("nested too deeply", 1, 1)


def _parses_elsewhere(text: str) -> bool:
    if too_deep(text):
        return False
    import libcst

    try:
        libcst.parse_module(text)
    except (libcst.ParserSyntaxError, RecursionError, ValueError):
        return False
    return True
