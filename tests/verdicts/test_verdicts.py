"""A sample of the table of planted edits, each operator on one program: `python -m tests.verdicts` is the whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.verdicts.operators import BAD, HARMLESS
from tests.verdicts.trials import PROGRAMS, Court, Trial, court, trials

pytest.importorskip("torch")
pytest.importorskip("peft")
pytestmark = pytest.mark.slow


def sample(evidence: str, every: int, first: int) -> list[Trial]:
    """Of every so many operators one, each on another program."""
    by_operator: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials(evidence):
        by_operator[trial.operator].append(trial)
    chosen = list(by_operator.values())[first::every]
    return [each[index % len(each)] for index, each in enumerate(chosen)]


@pytest.fixture(scope="module")
def judge() -> Iterator[Court]:
    with court() as made:
        yield made


@pytest.mark.parametrize(
    "trial",
    [*sample("program", 14, 0), *sample("architecture", 14, 1)],
    ids=lambda trial: f"{trial.evidence}-{trial.program}-{trial.operator}".replace(" ", "_"),
)
def test_no_harm_passes_and_nothing_harmless_is_rejected(judge: Court, trial: Trial) -> None:
    proof = judge.proof(trial)
    assert trial.is_right(proof), (proof.verdict, proof.reason)


def test_the_table_is_as_large_as_it_says() -> None:
    assert len(BAD) >= 40 and len(HARMLESS) >= 15 and len(list(PROGRAMS.glob("*.py"))) >= 12
    assert {trial.operator for trial in trials("program")} == {*BAD, *HARMLESS}, "every operator edits some program"
