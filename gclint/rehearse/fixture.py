"""The pytest plugin: `def test_train(gclint_rehearse): gclint_rehearse("train.py --config tiny.yaml")`."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def gclint_rehearse() -> Iterator[Callable[[str], None]]:
    """A function that rehearses the program that a command starts, and fails the test with what was seen."""
    from gclint.rehearse.findings import report_of
    from gclint.rehearse.program import program_named
    from gclint.rehearse.rehearsal import rehearse
    from gclint.report.formats import render
    from gclint.verify import Verifier

    with Verifier() as verifier:

        def rehearsed(command: str, only: str = "") -> None:
            recipe = program_named(shlex.split(command), os.getcwd())
            with tempfile.TemporaryDirectory() as place:
                made = rehearse(recipe, verifier, Path(place), [name for name in only.split(",") if name])
            if made.codes:
                pytest.fail(render(report_of(made), "full"), pytrace=False)
            if not made.trained:
                pytest.fail(
                    f"{command} could not be rehearsed: {made.outcome.reason or 'no step was taken'}", pytrace=False
                )

        yield rehearsed
