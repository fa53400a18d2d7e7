"""The command as a process: standard output that is full, gone or closed, and Ctrl-C at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gclint

COMMAND = [sys.executable, "-m", "gclint"]
COMMANDS = [
    ["--version"],
    ["check", "a.py"],
    ["rule", "--all"],
    ["config", "--schema"],
    ["--help"],
    ["completion", "zsh"],
]
PROGRAM = """import torch
from torch.utils.checkpoint import checkpoint
checkpoint(torch.nn.Linear(1, 1), torch.ones(1))
"""


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A directory with a program that has a finding."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(gclint.__file__).parents[1]))
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    (tmp_path / "a.py").write_text(PROGRAM)
    return tmp_path


def shell(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", text, *COMMAND], capture_output=True, text=True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here to write to")
@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_full_standard_output_is_one_line_and_status_2(there, arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "gclint: error: standard output cannot be written (No space left on device)\n"


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_reader_that_has_gone_is_no_error(there, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_standard_output_the_status_tells(there):
    done = shell('"$0" "$@" check a.py >&-')
    assert (done.returncode, done.stderr) == (1, "")
    assert shell('"$0" "$@" check none.py >&- 2>&-').returncode == 2


def test_what_the_system_refuses_is_one_line(there):
    (there / "taken").write_text("")
    done = shell('"$0" "$@" new-rule ABC101 my-rule --directory taken')
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("gclint: error: taken") and "internal" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a directory in use cannot be removed there")
@pytest.mark.parametrize("arguments", ["check", "check --isolated {}/a.py", "fix", "clean"])
def test_a_working_directory_that_is_gone_is_told(there, arguments):
    (there / "gone").mkdir()
    done = shell(f'cd gone && rmdir ../gone && "$0" "$@" {arguments.format(there)}')
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gclint: error: the working directory is gone; change to another one\n"


@pytest.mark.parametrize("arguments", [["check", "--no-cache"], ["check", "--no-cache", "--watch"]])
@pytest.mark.parametrize("seconds", [0.3, 1.5])
def test_an_interrupted_check_says_nothing_more(there, arguments, seconds):
    body = "".join(f"    model{i} = torch.nn.Linear(1, 1)\n    checkpoint(model{i}, x)\n" for i in range(2000))
    for number in range(20):
        text = "import torch\nfrom torch.utils.checkpoint import checkpoint\ndef main(x):\n"
        (there / f"b{number}.py").write_text(f"{text}{body}main(torch.ones(1))\n")
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert err in ("gclint: interrupted\n", "")
