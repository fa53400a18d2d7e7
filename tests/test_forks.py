"""Forks: answers in order, questions asked late, forks that die, and none left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gclint.check import program
from gclint.check.engine import check
from gclint.check.findings import builtin_judge
from gclint.check.request import Request
from gclint.forks import AHEAD, Forks, Lost

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux only")

DANGEROUS = """
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_config(config)
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
model = DistributedDataParallel(model)
for batch in loader:
    model(**batch).loss.backward()
"""


def slower_first(number: int) -> tuple[int, int]:
    time.sleep(0.05 if number == 0 else 0)
    return number * number, os.getpid()


@pytest.fixture
def forks() -> Iterator[Forks[int, tuple[int, int]]]:
    made = Forks(slower_first, 2)
    yield made
    made.end()


def test_nothing_asked_nothing_answered(forks: Forks[int, tuple[int, int]]) -> None:
    assert list(forks.answers([])) == []


def test_answers_come_in_order_from_other_processes(forks: Forks[int, tuple[int, int]]) -> None:
    found = list(forks.answers([lambda number=number: number for number in range(20)]))
    assert [(asked, answer[0]) for asked, answer in found] == [(number, number * number) for number in range(20)]
    processes = {answer[1] for _, answer in found}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_a_question_is_made_when_it_is_asked(forks: Forks[int, tuple[int, int]]) -> None:
    taken: list[int] = []
    most_ahead = 0

    def question(number: int) -> int:
        nonlocal most_ahead
        most_ahead = max(most_ahead, number - len(taken))
        return number

    for asked, _ in forks.answers([lambda number=number: question(number) for number in range(50)]):
        taken.append(asked)
    assert most_ahead <= AHEAD * 2


def test_a_fork_that_dies_is_told() -> None:
    def die(number: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return number

    made = Forks(die, 2)
    try:
        with pytest.raises(Lost):
            list(made.answers([lambda: 1]))
    finally:
        made.end()


def test_an_answer_that_cannot_be_sent_is_lost_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    made: Forks[int, object] = Forks(lambda number: lambda: number, 1)
    try:
        with pytest.raises(Lost):
            list(made.answers([lambda: 1]))
    finally:
        made.end()
    assert capfd.readouterr() == ("", "")


def test_forks_are_ended_in_the_middle_of_their_work() -> None:
    def long(number: int) -> int:
        time.sleep(600)
        return number

    made = Forks(long, 1)
    (process,) = made._processes
    made._free[0].send(1)
    time.sleep(0.1)
    made.end()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def project(place: Path, programs: int) -> Request:
    for number in range(programs):
        (place / f"train{number}.py").write_text(DANGEROUS)
    return Request([str(place)], {"target": {"transformers": "4.57.6", "torch": "2.8.0"}}, cache=False)


def test_what_a_dead_fork_leaves_is_done_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = project(tmp_path, 4)
    alone = check(request, builtin_judge())
    assert {finding.code for finding in alone.findings} >= {"GCL201"}
    here = os.getpid()
    asked = program._Programs._walked
    monkeypatch.setattr(program, "SECONDS_ALONE", -1.0)

    def dies(self: program._Programs, wanted: program.Wanted) -> program.Walked:
        if os.getpid() != here and wanted.task.path.endswith("train2.py"):
            os.kill(os.getpid(), signal.SIGKILL)
        return asked(self, wanted)

    monkeypatch.setattr(program._Programs, "_walked", dies)
    divided = check(request, builtin_judge(2))
    assert divided.findings == alone.findings
    assert divided.problems == ()


def test_where_no_process_is_to_be_had_all_is_done_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = project(tmp_path, 3)
    alone = check(request, builtin_judge())
    refused: list[int] = []

    def refuse() -> int:
        refused.append(1)
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(program, "SECONDS_ALONE", -1.0)
    monkeypatch.setattr(os, "fork", refuse)
    assert check(request, builtin_judge(2)).findings == alone.findings
    assert refused == [1]


def busy_check(place: Path) -> subprocess.Popen[str]:
    """A check whose forks are in the middle of walks that take ten minutes."""
    project(place, 3)
    code = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from gclint.check import program, walker\n"
        "program.SECONDS_ALONE = -1.0\n"
        "walker.Walker.walk = lambda self, wanted: (os.write(1, b'asked\\n'), time.sleep(600))\n"
        "from gclint.cli import main\n"
        "sys.exit(main(['check', '--no-cache', '-j', '2', sys.argv[1]]))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(place)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    return process


def test_an_interruption_leaves_no_process(tmp_path: Path) -> None:
    process = busy_check(tmp_path)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "gclint: interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_check_leaves_no_process(tmp_path: Path, how: signal.Signals) -> None:
    process = busy_check(tmp_path)
    process.send_signal(how)
    try:
        process.communicate(timeout=20)  # returns when no fork holds the other ends of the streams any more
        assert process.returncode == -how
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
