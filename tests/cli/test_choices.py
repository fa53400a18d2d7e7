"""Several fixes of one finding: run them all and rank them, or choose each by one key on a real terminal."""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
import time
from pathlib import Path

import fake_analysis
import pytest

from gclint.check.request import Request
from gclint.cli import main
from gclint.fix.job import fix
from gclint.fix.proof import Proof, ProofOptions
from gclint.fix.trials import ranked

SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"
TEXT = "boom(1)\nshaky(2)\nx = 1\nboom(3)\n"
PROMPT = b"leaves the rest: "


def on_a_terminal(keys: list[str], start, limit: float = 30.0) -> tuple[int, str]:
    """Run `start` in a child on a terminal of its own, press a key at each prompt; exit status and screen."""
    import pty

    child, terminal = pty.fork()
    if child == 0:
        status = 99
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        try:
            status = start()
        finally:
            sys.stdout.flush()
            os._exit(status)
    seen, pressed, deadline = b"", 0, time.monotonic() + limit
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        if seen.count(PROMPT) > pressed and pressed < len(keys):
            time.sleep(0.05)
            os.write(terminal, keys[pressed].encode())
            pressed += 1
    else:
        os.kill(child, 9)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return status, seen.decode("utf-8", "replace")


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


def test_no_terminal_no_questions(gclint, project):
    (project / "a.py").write_text(TEXT)
    status, _, err = gclint("fix", "--interactive")
    assert status == 2 and "--interactive needs a terminal" in err
    assert (project / "a.py").read_text() == TEXT


def test_one_key_each(project, no_torch):
    (project / "a.py").write_text(TEXT)
    status, screen = on_a_terminal(["2", "x1", "s"], lambda: main(["fix", "--interactive"]))
    assert (project / "a.py").read_text() == "quiet(1)\nsteady(2)\nx = 1\nboom(3)\n", screen
    assert status == 1 and "1/2 takes a fix, s skips, q leaves the rest" in screen
    assert "+calm(1)" in screen and "+quiet(1)" in screen and "cost: slower" in screen
    assert "no figures: pip install 'gclint[verify]'" in screen


def test_q_leaves_the_rest_and_control_c_everything(project, no_torch):
    (project / "a.py").write_text(TEXT)
    assert on_a_terminal(["1", "\x03"], lambda: main(["fix", "--interactive"]))[0] == 130
    assert (project / "a.py").read_text() == TEXT
    assert on_a_terminal(["1", "q"], lambda: main(["fix", "--interactive"]))[0] == 1
    assert (project / "a.py").read_text() == TEXT.replace("boom(1)", "calm(1)")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--report", "x.html"], "--report needs --verify"),
        (["--verify", "--report", "x.txt"], "--report takes a file that ends in .html or .json, not x.txt"),
        (["--verify", "--report", "nowhere/x.html"], "nowhere/x.html: cannot be written"),
    ],
)
def test_a_report_that_cannot_be_made_is_said_before_anything_runs(gclint, project, options, complaint):
    (project / "a.py").write_text(TEXT)
    status, _, err = gclint("fix", *options)
    assert status == 2 and complaint in err and err.count("\n") == 1
    assert (project / "a.py").read_text() == TEXT


def proving(verdicts):
    def prove(request):
        return [Proof(c.finding, c.fix.name, verdicts[c.fix.name]) for c in request.applied]

    return prove


def test_alternatives_are_all_run_and_ranked(project):
    (project / "a.py").write_text("boom(1)\nshaky(2)\n")
    prove = proving({"calm": "passes", "quiet": "confirmed", "steady": "confirmed"})
    outcome = fix(Request(["."]), proof=ProofOptions(), judge=fake_analysis.JUDGE, prove=prove, alternatives=True)
    (trials,) = outcome.trials
    assert [each.chosen.fix.name for each in ranked(trials)] == ["quiet", "calm"]
    assert trials[1].changes[0][1].text == "quiet(1)\nshaky(2)\n"
    assert (project / "a.py").read_text() == "calm(1)\nshaky(2)\n", "the preferred fix is applied, not the best ranked"


def test_a_rejected_fix_cannot_be_chosen(project, monkeypatch):
    (project / "a.py").write_text("boom(1)\n")
    monkeypatch.setattr("gclint.fix.proof.proving", None)
    prove = proving({"calm": "rejected", "quiet": "confirmed"})

    def start():
        from gclint.cli.interactive import ask

        fix(Request(["."]), proof=ProofOptions(), judge=fake_analysis.JUDGE, prove=prove, ask=ask)
        return 0

    status, screen = on_a_terminal(["", "", "", "", "12"], start)
    assert status == 0 and "2 takes a fix, s skips" in screen
    assert (project / "a.py").read_text() == "quiet(1)\n"


def test_the_first_question_is_asked_before_anything_is_run_and_figures_come_below_it(project, monkeypatch):
    (project / "a.py").write_text("boom(1)\nboom(2)\n")

    def prove(request):
        time.sleep(1)
        return [
            Proof(chosen.finding, chosen.fix.name, "passes", "nothing fails", {"seconds_per_step": (0.5, 0.25)})
            for chosen in request.applied
        ]

    def start():
        from gclint.cli.interactive import ask

        fix(Request(["."]), proof=ProofOptions(), judge=fake_analysis.JUDGE, prove=prove, ask=ask)
        return 0

    status, screen = on_a_terminal(["", "", "", "", "", "", "1", "q"], start)
    before, _, after = screen.partition("passes: nothing fails")
    assert status == 0 and "(1 of 2)" in before and "1/2 takes a fix" in before and "no figures yet" in before
    assert "seconds per step 0.500 -> 0.250" in after
    assert (project / "a.py").read_text() == "calm(1)\nboom(2)\n"


@pytest.mark.slow
def test_figures_beside_each_fix(tmp_path, monkeypatch):
    pytest.importorskip("peft")
    shutil.copytree(SEEDS / "dorothy" / "before", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    report = ["--report", "verify.json", "--gpu-memory", "24GiB"]
    start = ["fix", ".", "--interactive", "--alternatives", *report]
    _, screen = on_a_terminal(["2"], lambda: main(start), 300)
    assert "-> " in screen and "seconds per step" in screen and "take one: gclint fix --choose GCL401=NAME" in screen
    text = (tmp_path / "train_dorothy.py").read_text()
    assert "use_gradient_checkpointing=False" in text and "HIP_LAUNCH_BLOCKING" not in text
    (found,) = json.loads((tmp_path / "verify.json").read_text())["alternatives"]
    assert {each["fix"] for each in found["ranked"]} == {"launch-blocking", "checkpointing-off"}
    assert all(each["proof"]["seconds_per_step"][1] > 0 for each in found["ranked"])
