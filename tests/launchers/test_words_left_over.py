"""What `parse_known_args` leaves over is what argparse leaves over, and what a second parser is given."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gclint.check.program import analyse
from gclint.launch.command_line import planned
from gclint.run.events import CheckpointCall
from gclint.source.source import read

PROGRAM = """import argparse
import torch
from torch.utils.checkpoint import checkpoint

first = argparse.ArgumentParser(add_help=False)
first.add_argument("-c", "--config", default="")
first.add_argument("--quick", action="store_true")
second = argparse.ArgumentParser()
second.add_argument("--mode", default="plain")
second.add_argument("--reentrant", action="store_true")
second.add_argument("--level", type=int, default=0)


def read():
    known, left = first.parse_known_args()
    return second.parse_args(left)


options = read()
print(options.reentrant if options.mode == "own" else None)
if options.mode == "own":
    checkpoint(torch.sin, torch.ones(1, requires_grad=True), use_reentrant=options.reentrant)
"""

# what is asked of CPython are the words of its command, and torch takes seconds to import
WITHOUT_TORCH = """
import runpy, sys
from unittest.mock import MagicMock
sys.modules.update({name: MagicMock() for name in ("torch", "torch.utils", "torch.utils.checkpoint")})
runpy.run_path("train.py", run_name="__main__")
"""


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--reentrant",
        "--mode own",
        "--mode own --reentrant",
        "--config x.yaml --mode own",
        "--mode=own --conf x.yaml --quick --reentrant",
        "--quick --mode own -c x.yaml",
        "--config own --reentrant",
        "--config -3 --mode own",
        "--reentrant --level -3 --mode own",
    ],
)
def test_the_second_parser_is_given_what_the_first_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    command = ["python", "train.py", *words.split()]
    launch = planned(command, os.environ, os.getcwd())[0].launch
    (run,) = analyse([read(path, "train.py", "python")], tmp_path, {}, [], keep_runs=True, launch=launch).runs
    derived = [event.reentrant.constant() for event in run.of_type(CheckpointCall) if not event.guard - run.assumed]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *command[2:]], capture_output=True, text=True, check=True
    )
    printed = done.stdout.strip()
    assert derived == ([] if printed == "None" else [printed == "True"])
