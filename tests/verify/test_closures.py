"""When the gradients of a step are there."""

from __future__ import annotations

from typing import Any

import pytest

from gclint.verify.worker.closures import once_computed

OPTIMIZER = object()


def test_without_a_closure_they_are_there_before_the_step() -> None:
    told: list[str] = []
    for args, kwargs in (((OPTIMIZER,), {}), ((OPTIMIZER, None), {}), ((OPTIMIZER,), {"closure": None})):
        assert once_computed(args, kwargs, lambda: told.append("looked")) is None
    assert told == ["looked"] * 3


@pytest.mark.parametrize("named", [False, True])
def test_with_one_they_are_there_when_it_was_first_called(named: bool) -> None:
    told: list[str] = []

    def closure() -> float:
        told.append("computed")
        return 0.5

    given: tuple[Any, ...] = ((OPTIMIZER,), {"closure": closure}) if named else ((OPTIMIZER, closure), {})
    changed = once_computed(*given, lambda: told.append("looked"))
    assert changed is not None and told == []
    args, kwargs = changed
    called = kwargs["closure"] if named else args[1]
    assert args[0] is OPTIMIZER and [called(), called()] == [0.5, 0.5]
    assert told == ["computed", "looked", "computed"]
