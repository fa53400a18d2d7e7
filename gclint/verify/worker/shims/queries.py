"""What a program asks of an accelerator that is not here: names, memory, streams, types, mixed precision."""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import sys
from functools import lru_cache
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import torch

from gclint.verify.worker.shims import Replacements

TYPES = (
    "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "LongTensor", "IntTensor", "ShortTensor",
    "ByteTensor", "CharTensor", "BoolTensor",
)  # fmt: skip
NOTHING = (
    "set_device", "synchronize", "empty_cache", "reset_peak_memory_stats", "reset_max_memory_allocated",
    "reset_max_memory_cached", "manual_seed_all", "manual_seed", "set_per_process_memory_fraction", "ipc_collect",
    "init",
)  # fmt: skip
ZERO = (
    "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_cached",
    "max_memory_cached", "current_device", "utilization",
)  # fmt: skip
EXITS = ("exit", "quit", "_exit", "abort")
CHOSEN = ("set_device_index", "set_device_idx", "synchronize", "empty_cache", "reset_peak_memory_stats")
ASKED = "the program asks for an accelerator before it starts: the CPU answers"


def install(found: Replacements) -> None:
    """Answer the queries; a program that refuses to run without an accelerator is told that there is one."""
    cuda = torch.cuda
    for name in NOTHING:
        setattr(cuda, name, lambda *args, **kwargs: None)
    for name in ZERO:
        setattr(cuda, name, lambda *args, **kwargs: 0)
    for name in TYPES:
        setattr(cuda, name, getattr(torch, name))
    cuda.get_device_name = lambda *args: "cpu"
    cuda.get_device_capability = lambda *args: (8, 0)
    cuda.get_device_properties = lambda *args: SimpleNamespace(
        name="cpu", total_memory=80 << 30, major=8, minor=0, multi_processor_count=1
    )
    cuda.mem_get_info = lambda *args: (80 << 30, 80 << 30)
    cuda.memory_stats = lambda *args: {}
    cuda.memory_summary = lambda *args, **kwargs: ""
    cuda.is_bf16_supported = lambda *args, **kwargs: True
    cuda.Stream, cuda.Event = _Stream, _Event
    cuda.current_stream = cuda.default_stream = lambda *args: _Stream()
    cuda.stream = cuda.device = lambda *args: contextlib.nullcontext()
    torch.Tensor.pin_memory = lambda self, *args: self
    torch.Tensor.record_stream = lambda self, *args: None
    _name_accelerator(found)
    cuda.is_available = _present(cuda.is_available, found)
    cuda.device_count = _counted(cuda.device_count, found)
    _scale_here(found)


class _Stream:
    """A stream of work that is done when it is given."""

    def __init__(self, *args: Any, **kwargs: Any):
        """Take any priority and device."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *ignored: Any) -> None:
        return None

    def _done(self, *args: Any, **kwargs: Any) -> None:
        return None

    wait_stream = wait_event = record_event = synchronize = _done


class _Event(_Stream):
    """A moment in such a stream."""

    record = wait = _Stream._done

    def elapsed_time(self, other: Any) -> float:
        """Milliseconds, which nobody measures here."""
        return 0.0

    def query(self) -> bool:
        """Whether it has come."""
        return True


def _scale_here(found: Replacements) -> None:
    """Loss scaling, which torch switches off without the accelerator, works on the CPU."""
    kind: Any = getattr(torch.amp, "GradScaler", None)
    if kind is None:
        return
    begin = kind.__init__

    @functools.wraps(begin)
    def begin_here(self: Any, device: Any = "cuda", *args: Any, **kwargs: Any) -> None:
        begin(self, "cpu", *args, **kwargs)
        if self.is_enabled():
            found.note("GradScaler: on the CPU, of float32 gradients")

    kind.__init__ = begin_here


def _name_accelerator(found: Replacements) -> None:
    """The accelerator is CUDA's where the program would not start without one, or reads a property of it at once."""
    kind: Any = getattr(torch, "accelerator", None)
    if kind is None:
        return
    original = kind.current_accelerator

    @functools.wraps(original)
    def current_accelerator(*args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        at = (frame.f_code.co_filename, frame.f_lineno, original.__name__)
        if _own(frame, found) and (ASKED in found.replaced or taken_for_granted(*at)):
            found.note(ASKED)
            return torch.device("cuda")
        return original(*args, **kwargs)

    for name in CHOSEN:
        setattr(kind, name, lambda *args, **kwargs: None)
    kind.current_accelerator = current_accelerator
    kind.is_available = _present(kind.is_available, found)
    kind.device_count = _counted(kind.device_count, found)


def _present(original: Any, found: Replacements) -> Any:
    @functools.wraps(original)
    def is_available() -> bool:
        if _insists(sys._getframe(1), found):
            found.note(ASKED)
            return True
        return bool(original())

    return is_available


def _insists(frame: FrameType | None, found: Replacements) -> bool:
    """Whether the program ends on one answer: where it asks, or where what asks returns the answer to."""
    if frame is None or not _own(frame, found):
        return False
    at = (frame.f_code.co_filename, frame.f_lineno)
    return ends_without(*at) or (hands_on(*at) and _insists(frame.f_back, found))


def _counted(original: Any, found: Replacements) -> Any:
    """One device for every process of this machine, where the program itself asks."""

    @functools.wraps(original)
    def device_count() -> int:
        here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        return here if _own(sys._getframe(1), found) else int(original())

    return device_count


def _own(frame: FrameType | None, found: Replacements) -> bool:
    return frame is not None and os.path.realpath(frame.f_code.co_filename).startswith(os.path.realpath(found.scratch))


@lru_cache(maxsize=256)
def ends_without(filename: str, line: int) -> bool:
    """Whether the statement at a line ends the program on one answer: an assert, or an if that raises or exits.

    So does an if without an else that alone gives a name its value, where the name is used all the same.
    """
    tree = _tree(filename)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or line):
            return True
        if isinstance(node, ast.If) and node.test.lineno <= line <= (node.test.end_lineno or line):
            return any(_ends(each) for each in node.body) or (not node.orelse and _alone_gives(node, tree))
    return False


@lru_cache(maxsize=256)
def taken_for_granted(filename: str, line: int, function: str) -> bool:
    """Whether an attribute of what a function returns is read where it is called at a line."""
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).rpartition(".")[2] == function
        and node.lineno <= line <= (node.end_lineno or line)
        for node in ast.walk(_tree(filename))
    )


@lru_cache(maxsize=256)
def hands_on(filename: str, line: int) -> bool:
    """Whether what is asked at a line is returned there by the function around, or by a name that it gets there."""
    for node in ast.walk(_tree(filename)):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or line):
            here = [each for each in ast.walk(node) if isinstance(each, ast.Name) and each.lineno == line]
            given = {each.id for each in here if isinstance(each.ctx, ast.Store)}
            for end in (each for each in ast.walk(node) if isinstance(each, ast.Return)):
                read = {each.id for each in ast.walk(end) if isinstance(each, ast.Name)}
                if end.lineno <= line <= (end.end_lineno or line) or given & read:
                    return True
    return False


@lru_cache(maxsize=64)
def _tree(filename: str) -> ast.Module:
    """A Python file's syntax tree, an empty one where it has none."""
    try:
        return ast.parse(Path(filename).read_text(encoding="utf-8", errors="replace"))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _alone_gives(branch: ast.If, tree: ast.Module) -> bool:
    """Whether only such branches give some name its value in the scope around, which is read after them."""
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef)
    around = [node for node in ast.walk(tree) if isinstance(node, scopes) and branch in ast.walk(node)]
    scope = around[-1] if around else tree
    inside = {id(each) for node in ast.walk(scope) if isinstance(node, ast.If) for each in ast.walk(node)}
    names = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and id(node) not in inside]
    known = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    known |= {node.arg for node in ast.walk(scope) if isinstance(node, ast.arg)}
    inner = [node for each in branch.body for node in ast.walk(each) if isinstance(node, ast.Name)]
    given = {node.id for node in inner if isinstance(node.ctx, ast.Store)}
    return bool(given & read - known)


def _ends(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return True
    called = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(called, ast.Call):
        return False
    function = called.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in EXITS
