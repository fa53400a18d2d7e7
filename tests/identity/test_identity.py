"""A twentieth of all fixtures and projects (`python -m identity.everything` takes all): identical findings with gates
and without, under any hash seed, remembered as a whole, by their walks or not at all, and however many processes share
the work.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
SHARE = 20
WAYS = {
    "as usual": ("1", []),
    "another hash seed": ("4294967295", []),
    "ungated": ("2", ["--ungated"]),
    "cached": ("3", ["--cached"]),
    "edited": ("5", ["--edited"]),
    "three jobs": ("4", ["--jobs", "3"]),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is said of every program, in each way; two ways at a time."""
    found = {}
    names = list(WAYS)
    for pair in (names[:2], names[2:4], names[4:]):
        started = {name: _start(tmp_path_factory.mktemp("programs"), *WAYS[name]) for name in pair}
        for name, process in started.items():
            out, err = process.communicate(timeout=600)
            assert process.returncode == 0, f"{name}: {err[-2000:]}"
            found[name] = out.splitlines()
    return found


def _start(place: Path, seed: str, options: list[str]) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "identity.everything", str(place), "--share", str(SHARE), *options],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
        cwd=TESTS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_there_is_something_to_compare(said: dict[str, list[str]]) -> None:
    assert len(said["as usual"]) > 48
    assert sum('"GCL' in line for line in said["as usual"]) > 20


@pytest.mark.parametrize("way", [name for name in WAYS if name != "as usual"])
def test_the_same_is_said(said: dict[str, list[str]], way: str) -> None:
    different = [(usual, other) for usual, other in zip(said["as usual"], said[way], strict=True) if usual != other]
    assert different == []
