from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import time

import pytest

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")


@pytest.fixture
def script(run, tmp_path):
    def make(shell):
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        done = run("gclint", "completion", shell)
        assert done.returncode == 0
        path = tmp_path / f"gclint.{shell}"
        path.write_text(done.stdout)
        return path

    return make


WORDS = [
    pytest.param(["che"], "check", id="a command"),
    pytest.param(["check", "--sel"], "--select", id="an option"),
    pytest.param(["check", "--select", "GCL20"], "GCL201", id="a code"),
    pytest.param(["check", "--output-format", "sa"], "sarif", id="a format"),
    pytest.param(["rule", "--output-format", "mark"], "markdown", id="the same option of another command"),
    pytest.param(["rule", "GCL60"], "GCL601", id="a rule"),
    pytest.param(["config", "min"], "min-certainty", id="a key"),
    pytest.param(["completion", ""], "zsh", id="a shell"),
    pytest.param(["check", "tra"], "train.py", id="a file"),
    pytest.param(["--vers"], "--version", id="an option of gclint itself"),
    pytest.param(["fix", "--unsafe", "tra"], "train.py", id="a file behind an option without a value"),
    pytest.param(["fix", "--verify", "tra"], "train.py", id="a file behind an option that may have a value"),
    pytest.param(["check", "--config", "tra"], "train.py", id="a file that an option takes"),
    pytest.param(["preflight", "--fo"], "--force", id="an option of preflight"),
    pytest.param(["preflight", "--", "torch", "tra"], "train.py", id="a file of the command that preflight starts"),
    pytest.param(["preflight", "--force", "--", "base"], "basename", id="the command that preflight starts"),
]
JOINED = [
    pytest.param("--select=GCL20", "GCL201", id="a code behind ="),
    pytest.param("--select GCL501,GCL20", "GCL501,GCL201", id="a second code"),
    pytest.param("--output-format=sar", "sarif", id="a format behind ="),
]


@pytest.mark.parametrize(("words", "expected"), WORDS)
def test_bash(script, project, words, expected):
    assert expected in in_bash(script, project, words)


@pytest.mark.parametrize(("words", "expected"), JOINED)
def test_bash_joined(script, project, words, expected):
    assert expected in in_bash(script, project, ["check", *words.replace("=", " = ").split()])


def in_bash(script, project, words):
    (project / "train.py").write_text("")
    quoted = " ".join(f"'{word}'" for word in ["gclint", *words])
    code = f'source {script("bash")}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _gclint; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, cwd=project, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(("words", "expected"), WORDS)
def test_fish(script, project, words, expected):
    assert expected in in_fish(script, project, " ".join(words))


@pytest.mark.parametrize(("words", "expected"), JOINED)
def test_fish_joined(script, project, words, expected):
    assert expected in [word.rpartition("=")[2] for word in in_fish(script, project, f"check {words}")]


def in_fish(script, project, words):
    (project / "train.py").write_text("")
    code = f"source {script('fish')}; complete -C 'gclint {words}'"
    done = subprocess.run(["fish", "-c", code], capture_output=True, text=True, cwd=project, check=True)
    assert done.stderr == ""
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("words", "expected"), WORDS)
def test_zsh(script, project, words, expected):
    assert expected in in_zsh(script, project, " ".join(words), expected)


@pytest.mark.parametrize(("words", "expected"), JOINED)
def test_zsh_joined(script, project, words, expected):
    last = expected.rpartition(",")[2]
    assert last in in_zsh(script, project, f"check {words}", last)


def in_zsh(script, project, words, expected):
    """What a zsh shows and types when Tab is pressed behind `words`, up to `expected` where that comes."""
    path = script("zsh")
    (project / "train.py").write_text("")
    ready = f"autoload -Uz compinit; compinit -u -d {path}.dump; source {path}; unsetopt list_ambiguous; print set'' up"
    typed = 'typed() { zle -I; print -r -- "[$BUFFER]" }; zle -N typed; bindkey ^T typed'
    ours, theirs = pty.openpty()
    try:
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
        command = ["zsh", "-f", "-i"]
        with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=project, env=environment) as zsh:
            os.write(ours, f"{typed}; {ready}\n".encode())
            read_until(ours, "\nset up")
            os.write(ours, f"gclint {words}\t\x14".encode())
            shown = read_until(ours, expected)
            zsh.kill()
    finally:
        os.close(ours)
        os.close(theirs)
    return shown


def read_until(terminal, expected, seconds=10):
    """What a terminal shows, without its control sequences, up to `expected` or for so long."""
    shown, until = "", time.monotonic() + seconds
    while expected not in shown and (left := until - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", os.read(terminal, 65536).decode(errors="replace"))
    return shown
