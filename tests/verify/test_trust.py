"""What a user stakes a run on: verdicts at the command line, in processes of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from planted import command, environment, plant, proved

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc"),
]
JOIN = 'dist.init_process_group("gloo")'
TWO = ("--program", "torchrun --nproc_per_node 2 train.py", "--timeout", "30")


def test_a_fix_that_loses_gradients_is_rejected_and_not_written(tmp_path: Path) -> None:
    program = plant(tmp_path, "use_reentrant=False", "use_reentrant=True")
    text = program.read_text()
    found = proved(program)
    assert (found["verdict"], found["evidence"]) == ("rejected", "program"), found
    assert program.read_text() == text


def test_a_fix_that_breaks_the_program_is_rejected(tmp_path: Path) -> None:
    program = plant(tmp_path, "optimizer.step()", "optimizer.stop()")
    text = program.read_text()
    found = proved(program)
    assert found["verdict"] == "rejected", found
    assert "AttributeError: 'SGD' object has no attribute 'stop'" in found["after"]
    assert program.read_text() == text


def test_a_harmless_pattern_passes_and_is_never_confirmed(tmp_path: Path) -> None:
    program = plant(tmp_path, "lr=0.1", "lr=1e-1")
    found = proved(program)
    assert (found["verdict"], found["before"], found["after"]) == ("passes", "runs", "runs"), found
    assert "lr=1e-1" in program.read_text()


def test_a_place_that_is_not_reached_is_unverified(tmp_path: Path) -> None:
    program = plant(tmp_path, "unreached = 1", "unreached = 2", "if dist.is_initialized():\n    unreached = 1")
    found = proved(program)
    assert (found["verdict"], "not through all of the edited lines" in found["reason"]) == ("unverified", True), found


def test_a_hang_in_a_collective_is_told(tmp_path: Path) -> None:
    program = plant(tmp_path, "lr=0.1", "lr=dist.barrier() or 0.1 if dist.get_rank() == 0 else 0.1", JOIN)
    found = proved(program, *TWO[:2], "--timeout", "12")
    assert found["verdict"] == "rejected", found
    assert "collective" in found["reason"] and "rank 0" in found["reason"], found


def test_a_death_of_the_program_is_a_verdict(tmp_path: Path) -> None:
    program = plant(tmp_path, "lr=0.1", "lr=__import__('os').kill(__import__('os').getpid(), 9) or 0.1")
    found = proved(program)
    assert found["verdict"] == "rejected", found
    assert "the run after the edit was killed: its process was ended by SIGKILL (out of memory?)" in found["reason"]


def test_two_verifies_at_once_do_not_collide(tmp_path: Path) -> None:
    programs = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        programs.append(plant(tmp_path / name, "lr=0.1", "lr=1e-1", JOIN))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda program: proved(program, *TWO), programs))
    assert [(each["verdict"], each["processes"]) for each in found] == [("passes", 2)] * 2, found


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_process_and_no_file(tmp_path: Path, sent: signal.Signals) -> None:
    program = plant(tmp_path, "lr=0.1", "lr=1e-1", f"{JOIN}\nimport time; time.sleep(600)")
    text = program.read_text()
    words = command(program, "--program", "torchrun --nproc_per_node 2 train.py")
    process = subprocess.Popen(
        words, cwd=program.parent, env=environment(program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    mine = f"TMPDIR={tmp_path / 'temporary'}".encode()
    deadline = time.monotonic() + 90
    while len(_processes(mine) - {process.pid}) < 5 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(_processes(mine) - {process.pid}) >= 5, "torchrun, two workers and their two runs"
    process.send_signal(sent)
    _, said = process.communicate(timeout=30)
    assert process.returncode not in (0, 1)
    if sent == signal.SIGINT:
        assert (process.returncode, said) == (130, "gclint: interrupted\n")
    assert "Traceback" not in said
    while _processes(mine) and time.monotonic() < deadline + 30:
        time.sleep(0.1)
    assert not _processes(mine)
    assert not list((tmp_path / "temporary").iterdir())
    assert program.read_text() == text


@pytest.mark.parametrize("ranks", [1, 2])
def test_no_network_is_used(tmp_path: Path, ranks: int) -> None:
    """One process runs without any interface, two need the loopback between them."""
    inside = ("unshare", "-rn")
    loopback = ("sh", "-c", 'ip link set lo up && exec "$@"', "sh") if ranks == 2 else ()
    if subprocess.run([*inside, *loopback, "true"], capture_output=True, check=False).returncode:
        pytest.skip("network namespaces, or `ip`, are not to be had here")
    assert shutil.which("unshare")
    program = plant(tmp_path, "lr=0.1", "lr=1e-1", JOIN if ranks == 2 else "")
    found = proved(program, *(TWO if ranks == 2 else ()), before=(*inside, *loopback))
    assert (found.get("verdict"), found.get("processes")) == ("passes", ranks), found


def test_the_hub_is_refused_with_a_line(tmp_path: Path) -> None:
    ask = "from huggingface_hub import snapshot_download; snapshot_download('a/b')"
    program = plant(tmp_path, "lr=0.1", "lr=1e-1", ask)
    found = proved(program)
    assert found["verdict"] == "unverified", found
    assert "the program asks the hub for what is not on this machine, and the hub is off" in found["reason"]


def _processes(mark: bytes) -> set[int]:
    """The processes that have `mark` in their environment."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if int(path.name) != os.getpid() and mark in (path / "environ").read_bytes() + b"\0":
                found.add(int(path.name))
        except OSError:
            continue
    return found
