"""Adopting gclint on code that has findings: baseline, noqa, watching, counting, with the real rules."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import trainings

TRAIN = "src/baseline_sft/train_sft_abel.py"


@pytest.fixture
def check(project, run):
    shutil.copytree(trainings.SEED, project, dirs_exist_ok=True)

    def call(*arguments, **options):
        return run("gclint", "check", "--output-format", "concise", *arguments, **options)

    return call


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_baseline_is_matched_by_content(check, project):
    made = check("--baseline", "known.json")
    assert made.returncode == 0 and "Wrote 4 findings to known.json." in made.stderr
    assert {item["path"] for item in json.loads((project / "known.json").read_text())["findings"]} == {
        "check_single_gpu.py", TRAIN}  # fmt: skip
    (project / TRAIN).write_text("# moved\n\n\n" + (project / TRAIN).read_text())
    edit(project / TRAIN, "        gradient_checkpointing=True,", "      gradient_checkpointing=True,")
    known = check("--baseline", "known.json")
    assert (known.returncode, known.stderr) == (0, "Left out 4 findings that known.json has.\n")
    again = check("--baseline", "../known.json", "..", cwd=project / "src")
    assert again.returncode == 0, again.stdout
    (project / "new.py").write_text(trainings.BAD)
    fresh = check("--baseline", "known.json")
    assert fresh.returncode == 1 and fresh.stdout.startswith("new.py:11:16: GCL501")
    assert fresh.stdout.count("GCL") == 1


def test_a_baseline_outlives_the_moving_of_files(check, project):
    check("--baseline", "known.json")
    (project / "train").mkdir()
    (project / TRAIN).rename(project / "train" / "sft.py")
    moved = check("--baseline", "known.json")
    assert (moved.returncode, moved.stderr) == (0, "Left out 4 findings that known.json has.\n")
    shutil.copy(project / "train" / "sft.py", project / "train" / "again.py")
    assert check("--baseline", "known.json").stdout.count("GCL") == 3
    (project / "train" / "again.py").unlink()
    (project / TRAIN).write_text("")
    copied = check("--baseline", "known.json")
    assert copied.stdout.count("train/sft.py:") == copied.stdout.count("GCL") == 3 and copied.returncode == 1


def test_what_a_baseline_no_longer_finds_is_told_and_forgotten(check, project):
    check("--baseline", "known.json")
    (project / "check_single_gpu.py").unlink()
    assert "1 entry of known.json no longer found" in check("--baseline", "known.json").stderr
    (project / TRAIN).unlink()
    assert "4 entries of known.json no longer found" in check("--baseline", "known.json").stderr
    check("--baseline", "known.json", "--update-baseline")
    assert check("--baseline", "known.json").stderr == ""


def test_add_noqa_then_nothing_is_left_and_the_files_mean_the_same(check, project):
    before = compile((project / TRAIN).read_text(), "x", "exec").co_code
    assert check("--add-noqa").stdout == "Silenced 4 findings in 2 files.\n"
    assert "gradient_checkpointing=True,  # noqa" not in (project / TRAIN).read_text()
    assert check().returncode == 0 and compile((project / TRAIN).read_text(), "x", "exec").co_code == before
    assert check("--add-noqa").stdout == "Silenced 0 findings in 0 files.\n"


def test_add_noqa_says_where_no_comment_can_stand(check, project):
    (project / "ds.json").write_text('{"distributed_type": "DEEPSPEED"}\n')
    found = check("--add-noqa", "--select", "GCL903", "ds.json")
    assert found.returncode == 0 and found.stdout.startswith("Silenced 0 findings")


def test_a_comment_never_cuts_a_command_in_two():
    from pathlib import Path

    from gclint.finding import Finding, Location
    from gclint.fix.add_noqa import silenced
    from gclint.report.content import Report
    from gclint.source.source import parse

    source = parse("run.sh", Path("/run.sh"), b"torchrun \\\n  train.py\n")
    finding = Finding("GCL101", "x", "m", Location("run.sh", 1, 1, 1, 5), "fails")
    assert silenced(Report((finding,), sources={"run.sh": source})) == []


def test_statistics_and_files(check, project):
    counted = check("--statistics", "--unsafe-fixes")
    assert [line.split()[:2] for line in counted.stdout.splitlines()] == [
        ["1", "GCL201"], ["1", "GCL601"], ["1", "GCL701"], ["1", "GCL702"]]  # fmt: skip
    (project / ".gitignore").write_text("check_*\n")
    listed = check("--show-files").stdout.splitlines()
    assert len(listed) == 3 and os.fspath(project / TRAIN) in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--update-baseline"], "--update-baseline needs --baseline FILE"),
        (["--fix", "--baseline", "x"], "--fix and --baseline exclude each other"),
        (["--diff", "--watch"], "--diff and --watch exclude each other"),
        (["--show-files", "--show-settings"], "--show-files and --show-settings exclude each other"),
        (["--add-noqa", "--baseline", "x"], "--baseline and --add-noqa exclude each other"),
    ],
)
def test_options_that_do_not_go_together(check, arguments, message):
    done = check(*arguments)
    assert done.returncode == 2 and done.stderr == f"gclint: error: {message}\n"


def test_watch_sees_launchers_and_outlives_mistakes(check, project):
    command = [sys.executable, "-m", "gclint", "check", "--watch", "--output-format", "concise"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        seen = []

        def until(text, stream):
            while text not in (line := stream.readline()):
                assert line, seen
                seen.append(line)
            return line

        assert until("findings in", process.stdout).startswith("4 findings")
        os.remove(project / "run_8gpu.sh")
        until("when started on more than one process", process.stdout)
        until("findings in", process.stdout)
        (project / "gclint.toml").write_text("selct = []\n")
        until("did you mean `select`?", process.stderr)
        (project / "gclint.toml").write_text('ignore = ["GCL7"]\n')
        assert until("findings in", process.stdout).startswith("2 findings")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 1
