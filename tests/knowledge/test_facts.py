"""Derived facts held to observed ones: of small programs, and of one that is rehearsed for real."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gclint.launch.command_line import planned
from gclint.rehearse.record import Record, Recording
from tests.knowledge.__main__ import OWN, held
from tests.knowledge.derived import derived
from tests.knowledge.facts import Derived, Observed, judged
from tests.knowledge.observed import observed
from tests.knowledge.page import page, shortly, totals
from tests.real_programs.rows import TABLES, rows

LOGGED = """import logging
import torch


def made():
    logger = logging.getLogger()
    logger.addHandler(logging.FileHandler("log"))
    return logger


model = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.ReLU())
made().info(model)
model(torch.ones(1, 4)).sum().backward()
"""
PROGRAM = """import argparse
import torch
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--plain", action="store_true")
options = parser.parse_args()
settings = {"batch_size": 2}
if not options.plain:
    settings.update({"shuffle": True, "drop_last": True})
loader = DataLoader(TensorDataset(torch.randn(8, 4), torch.randn(8, 1)), **settings)
model = torch.nn.Sequential(torch.nn.Linear(4, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for inputs, targets in loader:
    outputs = model(inputs)
    loss = torch.nn.functional.mse_loss(outputs, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
torch.save(model.state_dict(), "model.pt")
"""


def states(fact: Observed, *told: Derived) -> list[tuple[str, str]]:
    return [(each.state, each.about) for each in judged([fact], told)]


def test_a_fact_is_the_same_where_one_of_the_events_at_its_line_has_its_values() -> None:
    fact = Observed("forward", ("a.py", 5), {"training": {True}})
    told = Derived("forward", ("a.py", 4, 6), True, {"training": {True}})
    other = Derived("forward", ("a.py", 5, 5), True, {"training": {False}})
    assert states(fact, told) == [("same", "")]
    assert states(fact, other, told) == [("same", "")]


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ([], "missed"),
        ([Derived("step", ("a.py", 5, 5), True)], "missed"),
        ([Derived("forward", ("a.py", 6, 6), True, {"training": {True}})], "missed"),
        ([Derived("forward", ("a.py", 5, 5), True, {"training": None})], "unknown"),
        ([Derived("forward", ("a.py", 5, 5), True, {"training": {True, False}})], "open"),
        ([Derived("forward", ("a.py", 5, 5), False, {"training": {True}})], "open"),
        ([Derived("forward", ("a.py", 5, 5), True, {"training": {False}})], "contradicted"),
        ([Derived("trainer", ("a.py", 5, 5), True, all_of_it=True)], "same"),
    ],
)
def test_a_fact_is_less_than_known(told: list[Derived], state: str) -> None:
    assert states(Observed("forward", ("a.py", 5), {"training": {True}}), *told)[0][0] == state


def test_what_was_seen_at_a_line_is_one_fact_with_all_of_its_values() -> None:
    events = (
        {"kind": "forward", "at": ["a.py", 3], "training": True},
        {"kind": "forward", "at": ["a.py", 3], "training": False},
        {"kind": "loss", "at": ["a.py", 3], "name": "cross_entropy"},  # inside the model that the line calls
        {"kind": "backward", "at": None},
        {"kind": "end", "at": None, "schedulers": [{"name": "StepLR", "made": ["a.py", 1], "stepped": ["a.py", 9]}]},
    )
    assert observed(Recording((Record(0, events),))) == [
        Observed("forward", ("a.py", 3), {"training": {True, False}}),
        Observed("scheduler", ("a.py", 1), {"name": {"StepLR"}}),
        Observed("schedule step", ("a.py", 9), {}),
    ]


@pytest.mark.parametrize(("option", "value"), [([], True), (["--plain"], False)])
def test_a_setting_that_is_given_under_a_condition_has_its_default_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: list[str], value: bool
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    launch = planned(["python", "train.py", *option], os.environ, os.getcwd())[0].launch
    loader = next(each for each in derived(launch, tmp_path) if each.event == "loader")
    assert loader.values == {"shuffled": {value}, "last": {value}}


def test_a_model_that_is_logged_stays_in_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(LOGGED)
    monkeypatch.chdir(tmp_path)
    found = derived(planned(["python", "train.py"], os.environ, os.getcwd())[0].launch, tmp_path)
    assert [each.values["training"] for each in found if each.event == "forward"] == [{True}]


def test_a_program_that_is_rehearsed_is_known_whole(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    facts, unseen = held(["train.py"], tmp_path, 120)
    happened = ("optimizer", "loader", "forward", "loss", "backward", "clip", "step", "zeroed", "save")
    assert {(each.fact.event, each.state) for each in facts} == {(event, "same") for event in happened}
    assert unseen == 0


def test_a_row_of_the_own_table_is_a_program_that_nothing_is_planted_in() -> None:
    own = rows([OWN])
    assert own and OWN not in TABLES
    assert all(each.commit and not each.failure and not each.code and not each.plant for each in own)
    assert len(rows((*TABLES, OWN))) == len(rows()) + len(own), "a name is used once"


def test_the_page_counts_by_event_and_by_program() -> None:
    facts = [
        {"event": "step", "state": "same", "about": "by a library's loop"},
        {"event": "step", "state": "missed", "about": ""},
    ]
    results = {"one": {"facts": facts, "not observed": 3}, "two": {"failed": "RuntimeError: not-run"}}
    assert totals(results.values()) == "50% of 2: same 1, open 0, unknown 0, missed 1, contradicted 0"
    text = page(results)
    assert "| step | 1 |  |  | 1 |  |" in text
    assert "of the others: 0% of 1" in text
    assert "| two |  |  |  |  |  |  | not-run |" in text


def test_a_row_that_failed_names_no_path_of_a_machine() -> None:
    failed = (
        "RuntimeError: raised: ImportError: cannot import name 'x' from 'trl' (/home/me/lib/python3/trl/__init__.py)"
    )
    assert shortly(failed) == "ImportError: cannot import name 'x' from 'trl' (__init__.py)"
    assert shortly("OSError: see https://example.org/a/b and data/train.csv") == (
        "OSError: see https://example.org/a/b and data/train.csv"
    )
    assert len(shortly("word " * 80)) <= 120
