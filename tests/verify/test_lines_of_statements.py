"""Which parts of edited lines count as executed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gclint.verify.worker.lines import Lines

CALL = "def f(kind, **given):\n    return make(\n        first=1 if kind else 2,\n        last=3,\n    )\n"


@pytest.fixture(autouse=True)
def untraced() -> Iterator[None]:
    before = sys.gettrace()
    yield
    sys.settrace(before)


def missed(tmp_path: Path, text: str, wanted: list[int], call: str, raising: bool = False) -> list[int]:
    (tmp_path / "a.py").write_text(text)
    lines = Lines(tmp_path, {"a.py": wanted})
    names = {"make": no_last if raising else dict}
    lines.start()
    try:
        exec(compile(text, str(tmp_path / "a.py"), "exec"), names)
        eval(call, names)
    except TypeError as error:
        lines.ended(error)
    finally:
        sys.settrace(None)
        if hasattr(sys, "monitoring"):
            sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
    return lines.missed()["a.py"]


def no_last(first: int) -> int:
    return first


def test_of_a_call_on_several_lines_only_those_asked_for(tmp_path: Path) -> None:
    assert missed(tmp_path, CALL, [4], "f(1)") == []
    assert missed(tmp_path, CALL, [3], "f(1)") == [3], "one side of the choice was not executed"
    assert missed(tmp_path, CALL, [5], "f(1)") == [3], "a bracket stands for its whole statement"
    assert missed(tmp_path, CALL, [4], "make()") == [2, 4], "the statement was not come to"


def raises(first: int) -> int:
    raise TypeError(first)


def test_what_an_exception_of_a_function_of_python_leaves_of_its_statement(tmp_path: Path) -> None:
    text = "def f(refuse):\n    made = refuse(1)\n    return made\n"
    (tmp_path / "a.py").write_text(text)
    lines, names = Lines(tmp_path, {"a.py": [2]}), {"refuse": raises}
    lines.start()
    try:
        exec(compile(text, str(tmp_path / "a.py"), "exec"), names)
        eval("f(refuse)", names)
    except TypeError as error:
        lines.ended(error)
    finally:
        sys.settrace(None)
        if hasattr(sys, "monitoring"):
            sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
    assert lines.missed()["a.py"] == []


def test_what_an_exception_leaves_of_its_statement(tmp_path: Path) -> None:
    text = "def f(kind):\n    made = make(first=1, last=2)\n    made = make(1) if kind else 2\n"
    assert missed(tmp_path, text, [2], "f(1)", raising=True) == []
    assert missed(tmp_path, text, [2, 3], "f(1)", raising=True) == [3], "the next statement was not executed"
    choice = "def f(kind):\n    made = make(last=1) if kind else make(last=2)\n"
    assert missed(tmp_path, choice, [2], "f(1)", raising=True) == [2], "nor was the other side of a choice"
