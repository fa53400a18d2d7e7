"""The mutation check itself: what is changed, which mutants there are, and that a seeded few of them are caught."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from .mutants import CORE, ROOT, drawn, equivalent, mutants

CHANGES = {
    "def f(a: bool = True):\n    return a": {"True -> False"},
    "def f(a, b):\n    return a < b is not None": {
        "a < b is not None -> a <= b is not None",
        "a < b is not None -> a < b is None",
    },
    "def f(a, b):\n    while a and b:\n        g(a)": {
        "while a and b: -> while not (a and b):",
        "a and b -> a or b",
        "g(a) -> pass",
    },
    "def f(a):\n    if not a:\n        return": {"if not a: -> pass", "not a -> a"},
    "def f(a) -> Guard:\n    return conj(a.guard, complement(a.b))": {
        "return conj(a.guard, complement(a.b)) -> return frozenset()",
        "conj(a.guard, complement(a.b)) -> a.guard",
        "conj(a.guard, complement(a.b)) -> complement(a.b)",
        "conj(a.guard, complement(a.b)) -> conj(frozenset(), complement(a.b))",
        "complement(a.b) -> a.b",
    },
    "def f(a) -> bool:\n    return a[1]": {"return a[1] -> return not a[1]", "1 -> 2", "1 -> 0"},
    "def f(a, b):\n    return a | b if b else a - b": {
        "a | b if b else a - b -> a | b if not b else a - b",
        "a | b -> a",
        "a | b -> b",
        "a - b -> a + b",
    },
    "def f():\n    return '2.4', '2.4.1', 'text'": {"'2.4' -> '2.5'", "'2.4.1' -> '2.5.1'"},
    "MOST = 3\nWords = list[int] | None": {"3 -> 2"},
}


@pytest.mark.parametrize("text", CHANGES)
def test_what_is_changed(text: str, tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(text)
    found = mutants(path)
    assert {mutant.key.partition(": ")[2] for mutant in found} == CHANGES[text]
    texts = [ast.unparse(mutant.tree()) for mutant in found]
    assert len({*texts, ast.unparse(ast.parse(text))}) == len(found) + 1


def test_a_sample_is_of_all_files_and_keeps_when_lines_move(tmp_path: Path) -> None:
    sample = drawn(60, 0)
    assert {mutant.path for mutant in sample} == set(CORE)
    assert [mutant.key for mutant in sample] == [mutant.key for mutant in drawn(60, 0)]
    assert [mutant.key for mutant in sample] != [mutant.key for mutant in drawn(60, 1)]
    moved = tmp_path / CORE[0].name
    moved.write_text("\n\n" + CORE[0].read_text())
    assert [each.key for each in drawn(9, 0, [moved])] == [each.key for each in drawn(9, 0, [CORE[0]])]


def test_what_is_called_equivalent_is_there_and_has_a_reason() -> None:
    known = {mutant.key for path in CORE for mutant in mutants(path)}
    assert equivalent().keys() <= known
    assert all(len(reason.split()) > 3 for reason in equivalent().values())


def test_a_seeded_few_are_caught_and_nothing_without_a_mutation() -> None:
    tests = ["tests/test_guards.py", "tests/test_statements.py"]
    command = [sys.executable, "-m", "tests.mutation", *tests, "--count", "5", "--file", "guards", "formula"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    lines = made.stdout.splitlines()
    assert len(lines) == 6, made.stdout + made.stderr
    assert sum("| caught: tests/test_" in line for line in lines) >= 4, made.stdout
