"""Rules asked of a run that was observed: the same rules, along the way that the program took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gclint.finding import Finding
from gclint.rehearse.record import Event, Record, Recording
from gclint.rehearse.rules import ask_rules
from gclint.rehearse.seen import Seen
from gclint.verify.outcome import Outcome, Raised
from gclint.verify.recipe import ProgramRecipe

from .test_marks import run

STAND_IN = '''
class Anything:
    """Stands for all of torch: a program takes its way, and nothing is computed."""

    def __getattr__(self, name):
        return Anything()

    def __call__(self, *given, **named):
        return Anything()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def __getattr__(name):
    return Anything()
'''
PROGRAM = """import sys

import torch
from torch import nn


def evaluate(model):
    model.eval()
    return model(torch.ones(2, 8))


model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
evaluates = len(sys.argv) > {least}
turns = __import__("itertools").count()
for epoch in range(3):
    for x in [torch.ones(2, 8), torch.ones(2, 8)]:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
        stepped()
    if {condition}:
        evaluate(model)
"""
LEFT = "the loop goes on to train this model in evaluation mode"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project, and beside it what stands for torch."""
    (tmp_path / "beside" / "torch").mkdir(parents=True)
    (tmp_path / "beside" / "torch" / "__init__.py").write_text(STAND_IN)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pyproject.toml").write_text("")
    return tmp_path


def marks(place: Path, text: str) -> dict[str, Any]:
    """What the marks tell of a run of a program."""
    return run(place / "project", text, beside=place / "beside")[1]


def found(
    place: Path,
    *told: dict[str, Any],
    cut: bool = False,
    events: tuple[Event, ...] = (),
    seen: tuple[Seen, ...] = (),
    raised: Raised | None = None,
) -> list[Finding]:
    """What the rules find in a run of which each rank told this."""
    ranks = [
        Record(rank, (*events, {"kind": "marks", "files": files}, {"kind": "end", "cut": cut}))
        for rank, files in enumerate(told)
    ]
    recipe = ProgramRecipe(name="train.py", copy_of=str(place / "project"))
    status = "finished" if raised is None else "raised"
    outcome = Outcome(status, raised=raised, world_size=len(told), versions={"torch": "2.13.0+cpu"})
    return list(ask_rules(recipe, outcome, Recording(tuple(ranks)), seen))


def event(kind: str, line: int) -> Event:
    return {"kind": kind, "at": ["train.py", line], "step": 0}


def test_what_was_not_come_to_is_not_found(place: Path) -> None:
    assert found(place, marks(place, PROGRAM.format(least=5, condition="evaluates"))) == []


def test_what_stands_behind_the_end_of_the_run_is_not_found(place: Path) -> None:
    ended = PROGRAM.replace("model = nn", "(lambda end: end())(vars(__builtins__)['exit'])\nmodel = nn")
    assert found(place, marks(place, ended.format(least=0, condition="True"))) == []
    assert found(place, marks(place, PROGRAM.format(least=0, condition="True")))


@pytest.mark.parametrize("condition", ["evaluates", "len(str(sys.argv) * (epoch + 1)) > 3"])
def test_what_happened_is_seen_with_its_step(place: Path, condition: str) -> None:
    (only,) = found(place, marks(place, PROGRAM.format(least=0, condition=condition)))
    assert (only.code, only.certainty, only.message, only.condition) == ("GCL708", "seen", LEFT, "")
    assert only.location.line == 8 and only.symptom.endswith("come to in step 3")
    assert "gclint rule GCL708" in only.help and not only.fixes and not only.versions


def test_what_an_exception_left_out_did_not_help(place: Path) -> None:
    text = PROGRAM.format(least=0, condition="True").replace(
        "        evaluate(model)\n",
        """        try:
            evaluate(model)
            print(exec("1 / 0"))
            model.train()
        except ZeroDivisionError:
            pass
""",
    )
    assert [each.code for each in found(place, marks(place, text))] == ["GCL708"]
    assert found(place, marks(place, text.replace("1 / 0", "1 / 1"))) == []


def test_a_condition_that_was_met_and_not_met_may_stay(place: Path) -> None:
    (only,) = found(place, marks(place, PROGRAM.format(least=0, condition="turns.__next__() % 2 == 1")))
    assert only.code == "GCL708" and not only.condition and only.symptom.endswith("come to in step 5")


def test_what_came_after_the_cut_is_open(place: Path) -> None:
    told = marks(place, PROGRAM.format(least=0, condition="evaluates"))
    assert found(place, told, cut=True) == []


def test_what_the_walk_knows_nothing_of_leaves_open_what_never_happens(place: Path) -> None:
    told = marks(place, PROGRAM.format(least=0, condition="evaluates"))
    assert found(place, told, events=(event("step", 20), event("zeroed", 18)))
    assert found(place, told, events=(event("step", 21),)) == []


@pytest.mark.parametrize(("word", "codes"), [("yes", ["GCL826"]), ("no", [])])
def test_a_value_that_only_the_run_knows(place: Path, word: str, codes: list[str]) -> None:
    text = f"""import os

import torch

F = torch.nn.functional
settings = dict(line.split("=") for line in os.popen("echo log={word}").read().split())
student, teacher = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
given = student(torch.rand(4, 4))
given = given.softmax(-1) if settings["log"] == "yes" else given.log_softmax(-1)
F.kl_div(given, teacher(torch.rand(4, 4)).softmax(-1), reduction="batchmean").backward()
optimizer.step()
"""
    assert [each.code for each in found(place, marks(place, text))] == codes


def test_ranks_that_differ_leave_a_condition_open(place: Path) -> None:
    text = PROGRAM.format(least=0, condition="evaluates")
    yes, no = marks(place, text), marks(place, text.replace("> 0", "> 5"))
    (place / "project" / "train.py").write_text(text)
    (only,) = found(place, yes, no)
    assert only.code == "GCL708" and only.symptom.endswith("come to in step 3 on rank 0")


def test_what_a_question_says_is_not_told_twice(place: Path) -> None:
    told = marks(place, PROGRAM.format(least=0, condition="evaluates"))
    elsewhere = Seen("GCS302", "evaluation-mode-not-left", "", ("other.py", 8), "", "")
    assert found(place, told, seen=(elsewhere,))
    assert found(place, told, seen=(Seen("GCS302", "evaluation-mode-not-left", "", ("train.py", 19), "", ""),)) == []


def test_a_foretold_exception_is_seen_where_it_was_raised(place: Path) -> None:
    text = """import torch
from torch import nn, utils

layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
x = torch.ones(2, 8, requires_grad=True)
utils.checkpoint.checkpoint_sequential(layers, 3, x, use_reentrant=False).sum().backward()
"""
    told = marks(place, text)
    assert found(place, told) == []
    assert found(place, told, raised=Raised("ValueError", "not enough values to unpack")) == []
    (only,) = found(place, told, raised=Raised("ValueError", "range() arg 3 must not be zero"))
    assert (only.code, only.certainty, only.location.line) == ("GCL511", "seen", 6)


def test_a_comment_silences_it(place: Path) -> None:
    text = PROGRAM.format(least=0, condition="evaluates").replace("model.eval()", "model.eval()  # noqa: GCL708")
    assert found(place, marks(place, text)) == []
