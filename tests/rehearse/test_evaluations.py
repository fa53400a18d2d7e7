"""What evaluates: where it stands in a program's text, and what is seen when it is computed twice."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gclint.rehearse.observe.regions import region
from gclint.verify import Verifier
from gclint.verify.recipe import Evaluation

from . import measure

PROGRAM = """
def main():
    for epoch in range(3):
        for x in loader:
            model(x).backward()
        model.eval()
        with no_grad():
            for x in held_out:
                if x is None:
                    {inside}
                right += model(x)
        print(right)
"""


def text(source: str, line: int, trains: tuple[int, ...], name: str = "main", first: int = 2) -> str:
    """The statement that is found in a program."""
    found = region(ast.parse(source), Evaluation("train.py", name, first, line, trains))
    return "" if found is None else ast.unparse(found).partition("\n")[0]


@pytest.mark.parametrize("inside", ["return", "yield", "await x", "del x", "return 1"])
def test_what_is_left_from_inside_is_not_executed_twice(inside: str) -> None:
    source = PROGRAM.format(inside=inside).replace("def main", "async def main" if "await" in inside else "def main")
    assert text(source, 11, (5,)) == "right += model(x)"


def test_a_decorated_function_begins_at_its_decorator() -> None:
    source = "@held\n" + PROGRAM.format(inside="continue").lstrip()
    assert text(source, 11, (5,), first=1) == "with no_grad():"
    assert text(source, 11, (5,), first=2) == text(source, 11, (5,), "other") == ""


def test_nothing_evaluates_apart_where_one_line_does_both() -> None:
    assert text("for phase in phases:\n    out = step(phase)\n", 2, (2,), "<module>", 1) == ""


def test_what_leaves_the_loop_from_the_else_of_another_is_not_executed_twice() -> None:
    source = "for epoch in range(3):\n    train()\n    for x in held_out:\n        model(x)\n    else:\n        break\n"
    assert text(source, 4, (2,), "<module>", 1) == "model(x)"


@pytest.mark.parametrize("inside", ["continue", "break", "pass"])
def test_the_outermost_statement_that_does_not_train_is_found(inside: str) -> None:
    assert text(PROGRAM.format(inside=inside), 11, (5,)) == "with no_grad():"


def test_a_line_of_the_module_in_an_except_block() -> None:
    source = "try:\n    train()\nexcept StopIteration:\n    if left:\n        right += model(x)\n"
    assert text(source, 5, (2,), "<module>", 1) == "if left:"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("healthy", "trainer_that_evaluates"),
        ("healthy", "phases_of_one_loop"),
        ("healthy", "rounds_of_changed_rows"),
        ("healthy", "rounds_through_batch_norm"),
        ("healthy", "rounds_with_noise_of_the_loop"),
        ("healthy", "lbfgs"),
        ("healthy", "metric_that_is_a_module"),
        ("healthy", "padded_ranks_by_their_labels"),
        ("planted", "padded_ranks_weigh_the_same"),
        ("planted", "metric_of_trainer_never_reset"),
        ("planted", "metric_of_trainer_that_fails"),
        ("planted", "state_kept_in_lines_that_evaluate"),
        ("planted", "negatives_of_each_round_alone"),
    ],
)
def test_what_only_another_run_shows(kind: str, name: str, verifier: Verifier) -> None:
    program = next(each for each in measure.programs(kind) if each.path.stem == name)
    made = measure.rehearsed(program, verifier)
    assert not made.failed and tuple(made.codes) == program.due


@pytest.mark.slow
def test_an_evaluation_of_made_up_rows_is_not_blamed_for_its_error(tmp_path: Path, verifier: Verifier) -> None:
    text = (measure.HERE / "healthy" / "trainer.py").read_text()
    text = text.replace('TrainingArguments("out"', 'TrainingArguments("out", eval_strategy="epoch"')
    text = text.replace(
        "train_dataset=data,", "train_dataset=data, eval_dataset=data, compute_metrics=lambda told: 1 / 0,"
    )
    (tmp_path / "train.py").write_text(text)
    made = measure.rehearsed(measure.Program(tmp_path / "train.py", (), 1), verifier)
    assert "compute_metrics" in text and made.recording.made_up and not made.failed and made.codes == []
