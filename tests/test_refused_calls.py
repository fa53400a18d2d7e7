"""Calls that Python refuses, as they spell out a keyword that a function of the project does not take, and options that
no parser defines: what would come after one is not judged, and a note says so. Whatever may take it ends nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gclint.cli import main

AFTER = """
net = made
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
nn.CrossEntropyLoss()(torch.softmax(net(torch.ones(2, 3)), -1), torch.ones(2, dtype=torch.long)).backward()
optimizer.step()
"""
HEAD = """import functools
import sys

import torch
from torch import nn


def any_arguments(function):
    @functools.wraps(function)
    def called(*args, **kwargs):
        return function()

    return called


"""
MAKE = "def make(width=3):\n    return nn.Linear(3, 2)\n\n\n"
CLASS = "class Net(nn.Linear):\n    def __init__(self, width=3):\n        super().__init__(3, 2)\n\n\n"
MADE_BY = """class Made:
    def __init__(self):
        self.width = 3

    @staticmethod
    def alone(width):
        return nn.Linear(3, 2)

    @classmethod
    def of_its(cls, width):
        return nn.Linear(3, 2)


"""
FINDING, NOTE = "GCL824", "GCL002"


def codes(capfd: pytest.CaptureFixture[str], folder: Path, text: str) -> list[str]:
    (folder / "train.py").write_text(HEAD + text + AFTER)
    main(["check", "--no-cache", "--output-format", "concise", str(folder)])
    out, err = capfd.readouterr()
    assert err == ""
    return [line.split(": ")[1].split()[0] for line in out.splitlines() if "train.py:" in line]


@pytest.mark.parametrize(
    "text",
    [
        MAKE + "made = make(width=3)",
        MAKE.replace("width=3", "width=3, **others") + "made = make(depth=3)",
        "@any_arguments\n" + MAKE + "made = make(depth=3)",
        MAKE + "try:\n    made = make(depth=3)\nexcept TypeError:\n    made = make()",
        MAKE + "made = make(depth=3) if len(sys.argv) > 1 else make()",
        CLASS + "made = Net(width=3)",
        MADE_BY + "made = Made.alone(3)",
        MADE_BY + "made = Made().alone(width=3)",
        MADE_BY + "made = Made.of_its(3)",
        CLASS
        + "made = {'one': Net, 'other': make}[sys.argv[1] if sys.argv[1:] else 'one'](width=3)".replace("make", "Net"),
    ],
)
def test_what_takes_the_keyword_ends_nothing(capfd: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    assert FINDING in (told := codes(capfd, tmp_path, text)) and NOTE not in told


@pytest.mark.parametrize(
    "text",
    [
        MAKE + "made = make(depth=3)",
        MAKE + "given = {'depth': 3}\nmade = make(**given, depth=4) if False else make(width=2, depth=4)",
        CLASS + "made = Net(depth=3)",
        MADE_BY + "made = Made.alone()",
        MADE_BY + "made = Made().alone(3, 4)",
        MADE_BY + "made = Made.of_its(3, 4)",
        CLASS + "made = {'one': Net}['one'](depth=3)",
        MAKE.replace("width=3", "width=3, /") + "made = make(width=3)",
    ],
)
def test_a_keyword_that_nothing_takes_ends_the_program(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    assert codes(capfd, tmp_path, text) == [NOTE]
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True)
    assert "TypeError" in done.stderr


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("Made.alone()", "`alone` does not get `width`: this raises TypeError"),
        ("Made().alone(3, 4)", "`alone` takes 1 by place and gets 2: this raises TypeError"),
        ("Made(4)", "`Made` takes 0 by place and gets 1: this raises TypeError"),
        ("Made.of_its(depth=3)", "`of_its` takes no `depth`: this raises TypeError"),
    ],
)
def test_the_note_says_why(capfd: pytest.CaptureFixture[str], tmp_path: Path, call: str, why: str) -> None:
    (tmp_path / "train.py").write_text(HEAD + MADE_BY + f"made = {call}" + AFTER)
    main(["check", "--no-cache", "--output-format", "concise", str(tmp_path)])
    assert why in capfd.readouterr()[0]


OPTIONS = (
    HEAD
    + """import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--clip", type=float, default=100.0)
args = parser.parse_args()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
"""
)


def test_an_option_that_no_parser_defines_ends_the_program(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(OPTIONS + "model(torch.ones(2, 4)).mean().backward()\noptimizer.step()\n")
    main(["check", "--no-cache", "--output-format", "concise", str(tmp_path)])
    out, _ = capfd.readouterr()
    assert "no parser of the program has an option `momentum`: this raises AttributeError" in out
    assert "GCL719" not in out
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True)
    assert "AttributeError: 'Namespace' object has no attribute 'momentum'" in done.stderr
