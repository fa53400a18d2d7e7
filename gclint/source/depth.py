"""Text nested too deeply for a parser that recurses, and a stack that is deep enough for the rest.

LibCST's parser is native code without a bound of its own: on the usual 8 MB stack it ends the process at
about 2,000 nested brackets, 5,000 lambdas or 20,000 `not`s (libcst 1.9.0, measured).
"""

from __future__ import annotations

import ctypes
import io
import re
import threading
import tokenize
from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import TypeVar

MOST_BRACKETS = 200
PATIENCE = 5.0
ROOM_IN_WORDS = 600_000
STACK_BYTES = 512 * 1024 * 1024
_BRACKET = re.compile(r"[()\[\]{}]")
_here = threading.local()
T = TypeVar("T")


class _Interrupted(BaseException):
    """Raised in the thread of some work to end it."""


def too_deep(text: str) -> bool:
    """Return whether brackets in `text` nest deeper than `MOST_BRACKETS`, where Python's own tokenizer stops.

    Brackets in strings and comments count only where Python's tokenizer does not come to an end: a text is never
    called shallow that is not.
    """
    if not _nests_deeper(match[0] for match in _BRACKET.finditer(text)):
        return False
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, RecursionError, MemoryError):
        return True
    return _nests_deeper(token.string for token in tokens if token.type == tokenize.OP)


def _nests_deeper(words: Iterable[str]) -> bool:
    depth = 0
    for word in words:
        if word in ("(", "[", "{"):
            depth += 1
            if depth > MOST_BRACKETS:
                return True
        elif depth and word in (")", "]", "}"):
            depth -= 1
    return False


def _with_room(work: Callable[[], T]) -> T:
    """Return what `work` returns, whose frames lie close together.

    CPython 3.11 and later keep frames in chunks of 16 KB; where calls come and go at the end of one, its successor is
    mapped and given back each time (`push_chunk` in Python/pystate.c). This frame asks for so much that its chunk,
    whose size is a power of two, has room for all that follow.
    """
    return work()


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=ROOM_IN_WORDS)


def deeply(work: Callable[[], T]) -> T:
    """Return what `work` returns, run on a stack of `STACK_BYTES`; raises what it raises.

    A KeyboardInterrupt ends the work as well. Where no such stack is to be had, `work` runs on the one there is.
    """
    if getattr(_here, "deep", False):
        return work()
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()  # an interrupted `join` of Python 3.11 takes a thread that runs for one that has ended

    context = copy_context()

    def run() -> None:
        _here.deep = True
        try:
            results.append(context.run(_with_room, work))
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    before = threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=run, name="gclint", daemon=True)
        thread.start()
    except (RuntimeError, MemoryError):
        return work()
    finally:
        threading.stack_size(before)
    try:
        done.wait()
    except KeyboardInterrupt:
        _interrupt(thread, done)
        raise
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _interrupt(thread: threading.Thread, done: threading.Event) -> None:
    """Have the work of a thread end as well: native code that goes on when Python ends aborts the process."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Interrupted))
        if done.wait(PATIENCE):
            thread.join()
