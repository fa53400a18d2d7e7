"""Commands that may run Python, by what they start and not by what they are spelled like."""

from __future__ import annotations

import pytest

from gclint.launch.interpreters import may_run_python


@pytest.mark.parametrize(
    "command",
    [
        "python --version",
        "cd runs && /opt/env/bin/pypy3 train.py",
        "nohup nice -n 5 ./evaluate &",
        ["bash", "-c", "torchrun train.py"],
        ["srun", "?", "python"],
        ["docker", "run", "image"],
        "make train",
        "tools.pyz",
    ],
)
def test_python_and_what_nobody_can_tell(command: str | list[str]) -> None:
    assert may_run_python(command)


@pytest.mark.parametrize(
    "command",
    [
        "git push origin main",
        "git log -- train.py",
        ["pythonic-notes", "--list"],
        ["env", "A=python", "/usr/bin/hostname"],
        ["bash", "-c", "shared-torchrun-log"],
        "",
        [],
    ],
)
def test_other_programs(command: str | list[str]) -> None:
    assert not may_run_python(command)
