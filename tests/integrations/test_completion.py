from __future__ import annotations

import shutil
import subprocess

import pytest


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
]


@pytest.mark.parametrize(("words", "expected"), WORDS)
def test_bash(script, project, words, expected):
    (project / "train.py").write_text("")
    quoted = " ".join(f"'{word}'" for word in ["gclint", *words])
    code = f'source {script("bash")}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _gclint; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, cwd=project, check=True)
    assert expected in done.stdout.split() and done.stderr == ""


@pytest.mark.parametrize(("words", "expected"), WORDS)
def test_fish(script, project, words, expected):
    (project / "train.py").write_text("")
    code = f"source {script('fish')}; complete -C 'gclint {' '.join(words)}'"
    done = subprocess.run(["fish", "-c", code], capture_output=True, text=True, cwd=project, check=True)
    assert expected in [line.split("\t")[0] for line in done.stdout.splitlines()]


def test_zsh(script, project):
    path = script("zsh")
    code = f"autoload -Uz compinit; compinit -u -d {path}.dump; source {path}; print ${{_comps[gclint]}}"
    done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, cwd=project, check=True)
    assert done.stdout == "_gclint\n"
    text = path.read_text()
    assert "'--select[check these codes or prefixes only]:value:(ALL " in text
    assert "'check:Report what is found'" in text
