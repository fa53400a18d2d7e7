"""A default that a mapping nobody knows may override is no constant: what is found of it says so, or is not found."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.engine import check_paths

PROGRAM = """
import argparse
import functools
import json
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU())


@dataclass
class Settings:
    width: int = 4
    reentrant: bool = True


class Plain:
    def __init__(self, width=4, reentrant=True):
        self.width, self.reentrant = width, reentrant


def put(target, given):
    for name, value in given.items():
        setattr(target, name, value)
    return target


def updated(held, given):
    held.update(given)
    return held


def own(target, given):
    vars(target).update(given)
    return target


def own_dict(target, given):
    target.__dict__.update(given)
    return target


def started(given):
    parser = argparse.ArgumentParser()
    parser.add_argument("--reentrant", default=True)
    parser.set_defaults(**given)
    return parser.parse_args([]).reentrant


def choice(reentrant=True, **rest):
    return reentrant


with open("settings.json") as file:
    given = json.load(file)[sys.argv[1]]
reentrant = {made}
x = torch.randn(2, 4)
checkpoint(layers, x, use_reentrant=reentrant).sum().backward()
"""
KNOWN = '{"width": 8}'
WAYS = {
    "dataclass": ("Settings(**{given}).reentrant", "if `Settings.reentrant` is its default True"),
    "dataclass_partly": ("Settings(width=2, **{given}).reentrant", "if `Settings.reentrant` is its default True"),
    "merged": ('{"reentrant": True, **{given}}["reentrant"]', "if `reentrant` is its default True"),
    "through_a_dict": (
        "Settings(**updated({'width': 2}, {given})).reentrant",
        "if `Settings.reentrant` is its default True",
    ),
    "updated": ('updated({"reentrant": True}, {given})["reentrant"]', "if `reentrant` is its default True"),
    "attributes": ("put(Settings(), {given}).reentrant", "if `reentrant` is its default True"),
    "namespace": ("put(SimpleNamespace(reentrant=True), {given}).reentrant", "if `reentrant` is its default True"),
    "vars": ("own(Settings(), {given}).reentrant", "if `reentrant` is its default True"),
    "own_dict": ("own_dict(Settings(), {given}).reentrant", "if `reentrant` is its default True"),
    "argparse": ("started({given})", "if `args.reentrant` is its default True"),
}
ONE_BY_ONE = ("attributes", "namespace")
UNKNOWN = {
    "function": "choice(**{given})",
    "function_of_a_partial": "functools.partial(choice, **{given})()",
    "class": "Plain(**{given}).reentrant",
}


def conditions(made: str, given: str, directory: Path) -> list[str]:
    """The conditions of what is found where `made` says how to recompute and `given` the mapping."""
    text = PROGRAM.replace("{made}", made.replace("{given}", given))
    (directory / "train.py").write_text(text)
    report = check_paths([str(directory)])
    assert not report.problems
    return [finding.condition for finding in report.findings if finding.code == "GCL502"]


ALL = {name: made for name, (made, _) in WAYS.items()} | UNKNOWN


@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_a_known_mapping_leaves_the_default_and_no_condition(made: str, tmp_path: Path) -> None:
    assert conditions(made, KNOWN, tmp_path) == [""]


@pytest.mark.parametrize("way", [name for name in ALL if name not in ONE_BY_ONE])
def test_a_known_mapping_that_gives_another_value_is_left_alone(way: str, tmp_path: Path) -> None:
    assert conditions(ALL[way], '{"width": 8, "reentrant": False}', tmp_path) == []


@pytest.mark.parametrize(("made", "said"), WAYS.values(), ids=WAYS)
def test_the_condition_that_the_default_stays_is_stated(made: str, said: str, tmp_path: Path) -> None:
    (condition,) = conditions(made, "given", tmp_path)
    assert said in condition


@pytest.mark.parametrize("made", UNKNOWN.values(), ids=UNKNOWN)
def test_of_a_parameter_that_may_be_given_nothing_is_said(made: str, tmp_path: Path) -> None:
    assert conditions(made, "given", tmp_path) == []
