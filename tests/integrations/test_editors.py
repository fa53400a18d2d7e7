"""Editors set up by the lines of docs/editors.md, word for word, and worked in: what they show, and a fix applied."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trainings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="a terminal is needed"),
]
pytest.importorskip("pygls", reason="pygls is not installed (pip install 'gclint[lsp]')")
HERE = Path(__file__).parent
EXTENSION = HERE.parents[1] / "editors" / "vscode"
PAGE = (HERE.parents[1] / "docs" / "editors.md").read_text(encoding="utf-8")


def lines(language: str, place: int = 0) -> str:
    """A block of the page in this language."""
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return blocks[place]


def in_terminal(command: list[str], environment: dict[str, str], seconds: float) -> str:
    """What a program writes to a terminal of its own until it ends, or is ended."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(command[0], command, environment)
    written, end = b"", time.monotonic() + seconds
    with suppress(OSError):  # it has ended, and its terminal with it
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                written += os.read(terminal, 1 << 16)
    if os.waitpid(child, os.WNOHANG)[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(terminal)
    return written.decode(errors="replace")


@pytest.fixture
def worked(project):
    """Start an editor on the flagged program, with gclint on the path; return what it said and the file it left."""
    (project / "train.py").write_text(trainings.BAD)
    (project / "pyproject.toml").write_text("")
    home = project.parent / "home"
    (home / ".emacs.d").mkdir(parents=True)
    (home / "gclint").write_text(f'#!/bin/sh\nexec {sys.executable} -m gclint "$@"\n')
    (home / "gclint").chmod(0o755)
    said = home / "said.json"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    environment |= {"HOME": str(home), "PATH": f"{home}{os.pathsep}{os.environ['PATH']}", "SAID": str(said)}
    environment |= {"TERM": "xterm"}

    def call(command: list[str]) -> tuple[dict, str]:
        written = in_terminal(command, environment, 120)
        assert said.exists(), written[-2000:]
        return json.loads(said.read_text()), (project / "train.py").read_text()

    call.home, call.said, call.environment = home, said, environment
    return call


def found(run) -> tuple[int, int, str, str]:
    """What `gclint check` prints of the same file."""
    (item,) = json.loads(run("gclint", "check", "--output-format", "json", "train.py").stdout)
    return item["location"]["row"], item["location"]["column"], item["code"], item["message"]


def first_lines(shown: list[list[object]]) -> list[list[object]]:
    """What an editor shows, less what stands below the message: effect, help, releases."""
    return [[str(each).partition("\n")[0] if isinstance(each, str) else each for each in item] for item in shown]


@pytest.mark.parametrize("place", [0, 1])
def test_neovim(worked, run, place):
    if shutil.which("nvim") is None:
        pytest.skip("Neovim is not installed")
    told = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(map(int, re.findall(r"\d+", told)[:2]))
    if place == 0 and version < (0, 11):
        pytest.skip(f"these lines are for Neovim 0.11, {told.split()[1]} is installed")
    row, column, code, message = found(run)
    (worked.home / "init.lua").write_text(lines("lua", place))
    drive = f"luafile {HERE / 'editors' / 'neovim.lua'}"
    said, text = worked(["nvim", "-n", "-u", str(worked.home / "init.lua"), "train.py", "-c", drive])
    assert [first_lines(said[step]) for step in ("opened", "changed_back", "saved")] == [
        [[row, column, code, message]]
    ] * 3
    assert not said["changed"] and not said["fixed"] and text == trainings.GOOD
    assert said["offered"] == ["gclint: Pass use_reentrant=False [GCL501]", "gclint: Fix all that is safe to fix"]


def test_emacs(worked, run):
    if shutil.which("emacs") is None:
        pytest.skip("Emacs is not installed")
    if subprocess.run(["emacs", "--batch", "-f", "package-initialize", "--eval", "(require 'eglot)"]).returncode:
        pytest.skip("this Emacs has no Eglot")
    row, column, code, message = found(run)
    (worked.home / ".emacs.d" / "init.el").write_text(lines("elisp"))
    said, text = worked(["emacs", "-nw", "-l", str(HERE / "editors" / "emacs.el")])
    shown = [row, column, f"gclint [{code}]: {message}"]
    assert [first_lines(said[step]) for step in ("opened", "changed_back", "saved")] == [[shown]] * 3
    assert not said["changed"] and not said["fixed"] and text == trainings.GOOD
    assert said["offered"] == ["gclint: Pass use_reentrant=False [GCL501]", "gclint: Fix all that is safe to fix"]


def until(answer, seconds=120):
    """What `answer` returns as soon as it is true."""
    end = time.monotonic() + seconds
    while not (given := answer()) and time.monotonic() < end:
        time.sleep(0.2)
    return given


@pytest.fixture
def terminal(worked):
    """A terminal of its own in which keys are pressed one by one, and what it shows."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    tmux = ["tmux", "-f", "/dev/null", "-L", f"gclint-{os.getpid()}"]

    def call(*arguments):
        ran = subprocess.run([*tmux, *arguments], env=worked.environment, capture_output=True, text=True, check=True)
        return ran.stdout

    def press(*keys):
        for key in keys:
            call("send-keys", key)
            time.sleep(0.1)

    call.press, call.screen = press, lambda: call("capture-pane", "-p")
    yield call
    subprocess.run([*tmux, "kill-server"], capture_output=True)


def test_helix(worked, run, project, terminal):
    """Key by key: Helix 25.01 sends the changes of keys that come all at once in any order."""
    if shutil.which("hx") is None:
        pytest.skip("Helix is not installed")
    row, _, code, message = found(run)
    (worked.home / ".config" / "helix").mkdir(parents=True)
    (worked.home / ".config" / "helix" / "languages.toml").write_text(lines("toml"))
    terminal("new-session", "-d", "-x", "200", "-y", "30", "hx train.py")
    press, file = terminal.press, project / "train.py"

    def shown(marked, text):
        """Whether the row comes to have this text, with the mark of a finding or without."""
        wanted = rf"^{'●' if marked else ' '}\s+{row}\s+{re.escape(text.splitlines()[row - 1].strip())}$"
        return until(lambda: re.search(wanted, terminal.screen(), re.MULTILINE), 30)

    assert shown(True, trainings.BAD), terminal.screen()
    press(":", *str(row), "Enter", "g", "l", "i", *", use_reentrant=False", "Escape")
    assert shown(False, trainings.GOOD), terminal.screen()
    press("u")
    assert shown(True, trainings.BAD), terminal.screen()
    press(":", "w", "Enter", "g", "g", "]", "d")
    assert until(lambda: {message, f"({code})"} <= {*re.split(r" {2,}|\n", terminal.screen())}, 30), terminal.screen()
    press("Space", "a")
    assert until(lambda: "gclint: Fix all that is safe to fix" in terminal.screen(), 30), terminal.screen()
    assert "gclint: Pass use_reentrant=False [GCL501]" in terminal.screen()
    press("Enter")
    assert shown(False, trainings.GOOD), terminal.screen()
    press(":", "w", "Enter")
    assert until(lambda: file.read_text() == trainings.GOOD, 30)


@contextmanager
def running(command, environment, log):
    """A program and what it starts, until the block ends."""
    with log.open("w") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, start_new_session=True)
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def notebook(*cells: tuple[str, str]) -> str:
    """A notebook file of (kind, text)."""
    common = {"code": {"execution_count": None, "outputs": []}, "markdown": {}}
    made = [{"cell_type": kind, "metadata": {}, "source": [text], **common[kind]} for kind, text in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def test_vs_code(worked, run, project):
    """The workbench of code-server, which is VS Code's, in a browser, with the extension as it is packaged."""
    if shutil.which("code-server") is None or shutil.which("chromium") is None:
        pytest.skip("code-server or Chromium is not installed")
    if not (package := next(EXTENSION.glob("*.vsix"), None)):
        pytest.skip("the extension is not built (npm install && npm run package in editors/vscode)")
    row, column, code, message = found(run)
    (project / "run.ipynb").write_text(notebook(("markdown", "# A title"), ("code", trainings.BAD)))
    driver = worked.home / "driver.vsix"
    with zipfile.ZipFile(driver, "w") as archive:
        for file in (HERE / "editors" / "vscode").iterdir():
            archive.write(file, f"extension/{file.name}")
    data = worked.home / "data"
    (data / "User").mkdir(parents=True)
    settings = json.loads(lines("json")) | {"gclint.path": str(worked.home / "gclint")}
    (data / "User" / "settings.json").write_text(json.dumps(settings))
    server = ["code-server", "--user-data-dir", str(data), "--extensions-dir", str(worked.home / "extensions")]
    install = [*server, "--install-extension", str(package), "--install-extension", str(driver)]
    subprocess.run(install, env=worked.environment, check=True, capture_output=True)
    server += ["--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-workspace-trust", "--disable-telemetry"]
    log = worked.home / "server.log"
    with running([*server, "--disable-update-check"], worked.environment, log):
        address = until(lambda: re.search(r"listening on (http://\S+?)/?\n", log.read_text()))
        assert address, log.read_text()
        browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
        browser += [f"--user-data-dir={worked.home / 'chromium'}", f"{address[1]}/?folder={project}"]
        with running(browser, worked.environment, worked.home / "chromium.log"):
            assert until(worked.said.exists), log.read_text()
    said = json.loads(worked.said.read_text())
    shown = [[row, column, code, message]]
    steps = ("opened", "changed_back", "undone", "cell_opened")
    assert [first_lines(said.get(step, [])) for step in steps] == [shown] * 4, said
    assert first_lines(said["cell_changed"]) == [[row + 1, column, code, message]]
    assert [said[step] for step in ("changed", "fixed", "saved", "cell_saved")] == [[]] * 4
    assert said["offered"] == ["gclint: Pass use_reentrant=False [GCL501]", "gclint: Fix all that is safe to fix"]
    assert said["hover"] == "# use-reentrant-unspecified (GCL501)"
    assert (project / "train.py").read_text() == trainings.GOOD
    cell = json.loads((project / "run.ipynb").read_text())["cells"][1]["source"]
    assert "".join(cell) == f"# now a line lower\n{trainings.GOOD}"
