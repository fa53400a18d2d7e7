"""Whether everything that stands on a few lines of a program is executed: each statement, and each part of one.

A conditional expression, an `and`, a branch on one line are told apart by Python's own instructions
(https://docs.python.org/3/library/dis.html), traced one by one in the functions that hold the lines.
"""

from __future__ import annotations

import ast
import dis
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Spot = tuple[str, int, int]  # a code's name and first line, and the offset in it
Piece = tuple[object, ...]  # an instruction as it is written; the compiler may copy it into each branch
NO_FALLTHROUGH = ("RETURN_VALUE", "RETURN_CONST", "RAISE", "RERAISE", "JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD")
BOOKKEEPING = frozenset(
    {
        "RESUME", "CACHE", "NOP", "EXTENDED_ARG", "COPY_FREE_VARS", "MAKE_CELL", "PUSH_NULL", "POP_TOP", "END_FOR",
        "POP_ITER", "POP_BLOCK", "JUMP_BACKWARD", "JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD_NO_INTERRUPT",
        "RETURN_VALUE", "PRECALL", "RETURN_GENERATOR", "GEN_START", "NOT_TAKEN",
    }
)  # fmt: skip
WITHOUT_CODE = (ast.Pass, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)


class Lines:
    """Traces the lines `wanted` of files below `scratch`; `missed` has those of which a part was not executed."""

    def __init__(self, scratch: Path, wanted: Mapping[str, Sequence[int]]):
        self._scratch, self._wanted = scratch, wanted
        self._needed: dict[str, dict[Spot, tuple[int, Piece]]] = {}
        self._statements: dict[str, list[range]] = {}
        self._names: dict[str, str | None] = {}
        self._seen: dict[str, set[Spot]] = {name: set() for name in wanted}

    def start(self) -> None:
        """Trace from now on, in this thread; the files are there by now."""
        for name, lines in self._wanted.items():
            try:
                tree = ast.parse((self._scratch / name).read_bytes())
                code = compile(tree, name, "exec", dont_inherit=True)
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue
            returns = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Return)}
            parts = {spot: part for each in _codes(code) for spot, part in _parts(each, returns)}
            coded = {line for each in _codes(code) for line in _computing(each)}
            spans = [span for span in _spans(tree) if set(span) & set(lines) and set(span) & coded]
            wanted = _with_code(set(lines), spans, {line for line, _ in parts.values()})
            self._needed[name] = {spot: part for spot, part in parts.items() if part[0] in wanted}
            self._statements[name] = spans
        if self._needed and hasattr(sys, "monitoring"):
            self._monitor(sys.monitoring)
        elif self._needed:
            sys.settrace(self._called)

    def ended(self, error: BaseException) -> None:
        """Count as executed what was left of every statement that an exception has ended: no run comes to it."""
        place = error.__traceback__
        while place is not None:
            code = place.tb_frame.f_code
            name = self._file_of(code)
            span = next((each for each in self._statements.get(name or "", ()) if place.tb_lineno in each), None)
            if name is not None and span is not None:
                lines, every = _lines(code), [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
                left = _reached(every, place.tb_lasti)
                self._seen[name] |= {(*_key(code), offset) for offset in left if lines.get(offset) in span}
            place = place.tb_next

    def missed(self) -> dict[str, list[int]]:
        """Return by file the wanted lines on which something was not executed, in order."""
        found = {}
        for name, needed in self._needed.items():
            seen = self._seen[name]
            hit = {line for spot, (line, _) in needed.items() if spot in seen}
            pieces = {piece for spot, (_, piece) in needed.items() if spot in seen}
            lines = {line for line, piece in needed.values() if piece not in pieces}
            lines |= {span.start for span in self._statements[name] if not hit & set(span)}
            found[name] = sorted(lines)
        return found

    def _monitor(self, monitoring: Any) -> None:
        """Watch by PEP 669, from Python 3.12 on: there, traces of frames leave instructions out."""
        tool, events = monitoring.PROFILER_ID, monitoring.events
        monitoring.use_tool_id(tool, "gclint")

        def started(code: CodeType, offset: int) -> Any:
            if self._file_of(code) is not None:
                monitoring.set_local_events(tool, code, events.INSTRUCTION)
            return monitoring.DISABLE

        def stepped(code: CodeType, offset: int) -> Any:
            name = self._file_of(code)
            if name is not None:
                self._seen[name].add((*_key(code), offset))
            return monitoring.DISABLE

        monitoring.register_callback(tool, events.PY_START, started)
        monitoring.register_callback(tool, events.INSTRUCTION, stepped)
        monitoring.set_events(tool, events.PY_START)

    def _file_of(self, code: CodeType) -> str | None:
        """The file of a code that holds some of the wanted lines, None for other code."""
        if code.co_filename not in self._names:
            real = os.path.realpath(code.co_filename)
            self._names[code.co_filename] = next(
                (name for name in self._needed if os.path.realpath(self._scratch / name) == real), None
            )
        name = self._names[code.co_filename]
        if name is None or not any(spot[:2] == _key(code) for spot in self._needed[name]):
            return None
        return name

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        name = self._file_of(code)
        if name is None:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        seen, key = self._seen[name], _key(code)

        def stepped(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "opcode":
                seen.add((*key, frame.f_lasti))
            return stepped

        return stepped


def _with_code(lines: set[int], spans: Sequence[range], computing: set[int]) -> set[int]:
    """The lines, and of a statement on whose lines among them nothing is computed (a bracket, a text) all of its."""
    return lines.union(*(span for span in spans if not lines & set(span) & computing))


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _parts(code: CodeType, returns: set[int]) -> Iterator[tuple[Spot, tuple[int, Piece]]]:
    """The instructions that a run without exceptions can come to and that compute something, with their lines and what
    they are as written.
    """
    every = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
    lines = _lines(code)
    reached = _reached(every)
    for index, each in enumerate(every):
        line = lines.get(each.offset)
        if line is None or each.offset not in reached or each.opname in BOOKKEEPING:
            continue
        if _leaves_with(every, index) or (line not in returns and _returns_nothing(every, index)):
            continue
        written = getattr(each, "positions", None) or (line, str(each.argval))  # without columns before 3.11
        yield (*_key(code), each.offset), (line, (*_key(code), each.opname, written))


def _lines(code: CodeType) -> dict[int, int]:
    return {offset: line for start, end, line in code.co_lines() if line is not None for offset in range(start, end, 2)}


def _computing(code: CodeType) -> Iterator[int]:
    lines = _lines(code)
    return (lines[e.offset] for e in dis.get_instructions(code) if e.opname not in BOOKKEEPING and e.offset in lines)


def _reached(every: Sequence[dis.Instruction], start: int = 0) -> set[int]:
    """The offsets that can be come to from an instruction, exceptions apart.

    The place of an exception can lie in the room behind its instruction: 3.11 has it so where Python code was called.
    """
    at = {each.offset: index for index, each in enumerate(every)}
    reached: set[int] = set()
    todo = [max((each for each in at if each <= start), default=start)]
    while todo:
        offset = todo.pop()
        if offset in reached or offset not in at:
            continue
        reached.add(offset)
        each, following = every[at[offset]], at[offset] + 1
        jumps = each.opcode in dis.hasjrel or each.opcode in dis.hasjabs
        if jumps and not each.opname.startswith("SETUP_"):
            todo.append(each.argval)
        if not each.opname.startswith(NO_FALLTHROUGH) and following < len(every):
            todo.append(every[following].offset)
    return reached


def _returns_nothing(every: Sequence[dis.Instruction], index: int) -> bool:
    """Whether it is the end of a function that says nothing of it."""
    each = every[index]
    if each.opname == "RETURN_CONST":
        return each.argval is None
    following = every[index + 1].opname if index + 1 < len(every) else ""
    return each.opname == "LOAD_CONST" and each.argval is None and following == "RETURN_VALUE"


def _leaves_with(every: Sequence[dis.Instruction], index: int) -> bool:
    """Whether it is a part of leaving a `with`: the call of `__exit__` with three times nothing."""
    for first in range(max(0, index - 4), index + 1):
        words = [each.opname for each in every[first : first + 5] if each.opname != "PRECALL"]
        three = words[:3] in (["LOAD_CONST"] * 3, ["LOAD_CONST", "DUP_TOP", "DUP_TOP"])
        if three and words[3:4] and words[3].startswith("CALL"):
            values = [each.argval for each in every[first : first + 3] if each.opname == "LOAD_CONST"]
            return all(value is None for value in values)
    return False


def _spans(tree: ast.Module) -> Iterator[range]:
    """The lines of every statement, of a compound one those of its header."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or isinstance(node, WITHOUT_CODE):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
        yield range(node.lineno, max(last, node.lineno) + 1)
