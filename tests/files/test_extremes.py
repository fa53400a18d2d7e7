"""Extreme files through check and fix with every rule: none stops gclint, and none is left half written."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEFECT = """\
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in loader:
    model(batch).mean().backward()
    optimizer.step()
"""


def gclint(where: Path, *arguments: str, largest: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command line in a directory; `largest` bounds the bytes of a file it may write, as a full disk does."""

    def bound() -> None:
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "gclint", *arguments, "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, timeout=60, preexec_fn=bound, check=False
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(DEFECT + "# x\n" * 50_000, "train.py:6", id="50,000 lines"),
        pytest.param("x = " + "(" * 3_000 + "1" + ")" * 3_000 + "\n", "GCL000", id="3,000 parentheses"),
        pytest.param("x = 1\n\0\n", "NUL", id="a null byte"),
    ],
)
def test_extreme_files(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "train.py").write_text(text)
    (tmp_path / "other.py").write_text(DEFECT)
    made = gclint(tmp_path, "check", "train.py", "other.py", "--output-format", "concise")
    assert said in made.stdout and "other.py:6:5: GCL805" in made.stdout and "internal error" not in made.stderr


def test_a_disk_that_is_full_in_the_middle_of_a_write_leaves_the_old_file(tmp_path: Path) -> None:
    text = DEFECT + "# filler\n" * 2_000
    (tmp_path / "train.py").write_text(text)
    made = gclint(tmp_path, "fix", "--unsafe-fixes", "train.py", largest=4_096)
    assert made.returncode == 2 and "cannot be written" in made.stderr
    assert (tmp_path / "train.py").read_text() == text and os.listdir(tmp_path) == ["train.py"]
    assert gclint(tmp_path, "fix", "--unsafe-fixes", "train.py").returncode == 0
    assert "zero_grad" in (tmp_path / "train.py").read_text()


NEWER = {
    "match": "match x:\n    case {'a': [1, *_]} if y: pass\n",
    "except*": "try:\n    pass\nexcept* ValueError:\n    pass\n",
    "type parameters": "type A[T] = list[T]\ndef f[T: int, *Ts, **P](x: T) -> T: ...\nclass C[T]: ...\n",
    "defaults of type parameters": "def f[T = int](x: T) -> T: ...\n",
    "template strings": "y, n = 1, 3\nx = t'a {y!r:>{n}} {y=}'\n",
    "except without parentheses": "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
    "except* without parentheses": "try:\n    pass\nexcept* ValueError, TypeError:\n    pass\n",
    "nested f-strings": "x = f'{y['a']} {f'{z!r:>{w}}'}'\n",
}


@pytest.mark.parametrize("name", NEWER)
def test_syntax_is_read_whatever_python_runs_gclint(tmp_path: Path, name: str) -> None:
    (tmp_path / "train.py").write_text(NEWER[name] + DEFECT)
    made = gclint(tmp_path, "check", "train.py", "--output-format", "concise")
    assert "GCL805" in made.stdout and "GCL000" not in made.stdout
    assert gclint(tmp_path, "fix", "--unsafe", "train.py").returncode == 0
    assert (tmp_path / "train.py").read_text() == NEWER[name] + DEFECT + "    optimizer.zero_grad()\n"


@pytest.mark.parametrize("name", NEWER)
def test_a_named_file_of_newer_syntax_is_no_error_where_nothing_asks_for_its_tree(tmp_path: Path, name: str) -> None:
    (tmp_path / "plain.py").write_text(NEWER[name])
    assert gclint(tmp_path, "check", "plain.py").returncode == 0
