"""Conditions on the number of processes, held against every number of processes."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from pathlib import Path

import pytest

import fixtures
from gclint.run import comparison

OPERATORS: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
COUNTS = range(1, 6)
NO_LAUNCHER = -1  # what a program takes for its local rank where no launcher tells it


def means_several(kind: str, sign: type[ast.cmpop], literal: int) -> bool | None:
    """What truth of the comparison is that of every run on several processes, and of no other; None without one."""
    ranks = {1: {NO_LAUNCHER}, **{count: set(range(count)) for count in COUNTS[1:]}}
    seen = {
        count: {OPERATORS[sign](held, literal) for held in ({count} if kind == "world_size" else ranks[count])}
        for count in COUNTS
    }
    several = set().union(*(seen[count] for count in COUNTS[1:]))
    return next(iter(several)) if len(several) == 1 and seen[1] == {not next(iter(several))} else None


@pytest.mark.parametrize("kind", ["world_size", "local_rank"])
@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("literal", range(-2, 5))
def test_what_a_comparison_says_of_the_number_of_processes(kind: str, sign: type[ast.cmpop], literal: int) -> None:
    if kind == "world_size" and literal < 1:
        return
    assert comparison._process_count(kind, sign(), literal) == means_several(kind, sign, literal)
    assert comparison._process_count(kind, sign(), str(literal)) == means_several(kind, sign, literal)


@pytest.mark.parametrize("kind", ["world_size", "local_rank"])
def test_a_number_that_is_there_means_a_launcher(kind: str) -> None:
    assert comparison._process_count(kind, ast.IsNot(), None) is True
    assert comparison._process_count(kind, ast.Is(), None) is False
    assert comparison._process_count(kind, ast.Eq(), 1.5) is None


def test_a_region_has_the_condition_of_the_call_in_which_its_layers_run(tmp_path: Path) -> None:
    text = (fixtures.ROOT / "GCL507" / "bad_trained_and_evaluated.py").read_text()
    (finding,) = fixtures.findings(text, tmp_path)
    assert (finding.certainty, finding.condition) == ("fails", "")


@pytest.mark.parametrize(
    ("name", "condition"),
    [("bad_waits_by_default", ""), ("bad_waits_for_as_many_as_are_asked", "if `args.every` is not 1")],
)
def test_gradients_are_lost_where_a_step_waits_for_several_rounds(name: str, condition: str, tmp_path: Path) -> None:
    (finding,) = fixtures.findings((fixtures.ROOT / "GCL806" / f"{name}.py").read_text(), tmp_path)
    assert finding.condition == condition
