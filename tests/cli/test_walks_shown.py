"""The line that says how far a long check is: on a terminal, and gone at the end."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

CODE = (
    "import sys\n"
    "from gclint.report import walks\n"
    "walks.SECONDS_UNTIL_SHOWN = float(sys.argv[2])\n"
    "from gclint.cli import main\n"
    "sys.exit(main(['check', '--no-cache', sys.argv[1]]))\n"
)
PROGRAM = """
import torch.utils.checkpoint as ckpt
from peft import get_peft_model
from transformers import AutoModelForCausalLM

ckpt.checkpoint = lambda f, *a, **k: f(*a)
model = AutoModelForCausalLM.from_pretrained("gpt2")
"""
UP_AND_CLEARED = "\x1b[2K"


def said_on_a_terminal(project: Path, seconds: float) -> str:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(project), str(seconds)],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(follower)
    said = b""
    with suppress(OSError):  # Linux says so where the other side is closed
        while part := os.read(leader, 4096):
            said += part
    assert process.wait(timeout=60) == 1
    return said.decode()


def test_a_short_check_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    assert said_on_a_terminal(tmp_path, 60.0) == ""


def test_a_long_one_shows_how_far_it_is_and_takes_it_away(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"train{number}.py").write_text(PROGRAM)
    said = said_on_a_terminal(tmp_path, 0.0)
    assert "reading" in said and "programs" in said
    assert "/3" in said and "train0.py" in said
    assert said.rstrip().endswith(UP_AND_CLEARED)


def test_where_there_is_no_terminal_nothing_is_shown(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    process = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path), "0"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (process.returncode, process.stderr) == (1, "")
