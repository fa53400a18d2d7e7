"""Nothing outlives a verification: not its workers, not what a verified program has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gclint.verify import Options, ProgramRecipe, Verifier
from gclint.verify.worker.supervise import descendants, remove

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc"),
]

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 1024)
        os.execv("/bin/sleep", ["sleep", "{seconds}"])
    os._exit(0)
time.sleep(0.3)
{rest}
"""


def sleepers(seconds: str) -> list[int]:
    """The processes that run `sleep SECONDS`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def until(done: Callable[[], object], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(done())


@pytest.mark.parametrize(
    ("rest", "status"),
    [("", "finished"), ("raise ValueError", "raised"), ("os._exit(0)", "killed"), ("time.sleep(100)", "timeout")],
)
def test_what_a_program_leaves_running_ends_with_its_run(rest: str, status: str) -> None:
    seconds = f"9{os.getpid()}.{len(rest)}"
    program = ProgramRecipe("daemon", DAEMON.format(seconds=seconds, rest=rest))
    with Verifier(Options(device="cpu", timeout=4)) as verifier:
        assert verifier.outcome(program).status == status
        assert not sleepers(seconds), "it ends with the run, not with the verification"


def test_a_daemon_of_one_rank_does_not_outlive_the_ranks() -> None:
    seconds = f"8{os.getpid()}"
    text = DAEMON.format(
        seconds=seconds, rest="import torch.distributed as d; d.init_process_group('gloo'); d.barrier()"
    )
    with Verifier(Options(device="cpu", timeout=30)) as verifier:
        assert verifier.outcome(ProgramRecipe("ranks", text, world_size=2)).status == "finished"
        assert not sleepers(seconds)


IMPORTING = """
import sys, threading, time
from pathlib import Path
from gclint.verify import Options, ProgramRecipe, Verifier
with Verifier(Options(device="cpu")) as verifier:
    verifier.expect([ProgramRecipe("a", "", world_size={size}, cold={cold})])
    print(" ", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(("size", "cold"), [(1, False), (2, False), (2, True)])
@pytest.mark.parametrize("later", [0.0, 0.7])
def test_workers_that_import_end_at_once_with_who_started_them(
    tmp_path: Path, size: int, cold: bool, later: float
) -> None:
    mark = f"TMPDIR={tmp_path}".encode()
    code = IMPORTING.format(size=size, cold=cold)
    process = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline()
    time.sleep(later)
    assert marked(mark) - {process.pid}
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=5)
    assert until(lambda: not marked(mark), 2), marked(mark)
    assert until(lambda: not list(tmp_path.iterdir()), 2), list(tmp_path.iterdir())


def marked(mark: bytes) -> set[int]:
    """The processes with a variable that begins with `mark`."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes():
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_launchers_workers_end_with_the_pool(tmp_path: Path) -> None:
    code = IMPORTING.replace('device="cpu"', 'device="cpu", launcher="setsid torchrun --standalone --nproc-per-node 2"')
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{torchrun()}{os.pathsep}{os.environ['PATH']}",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", code.format(size=2, cold=False)], env=environment, stdout=subprocess.PIPE
    )
    mark = f"TMPDIR={tmp_path}".encode()
    assert process.stdout is not None and process.stdout.readline()
    assert until(lambda: len(marked(mark)) >= 5, 60), "the pool, the supervisor, torchrun and two ranks"
    process.kill()
    process.wait(timeout=5)
    assert until(lambda: not marked(mark), 2), marked(mark)


def torchrun() -> str:
    """A directory with a `torchrun` of this interpreter."""
    path = Path(tempfile.mkdtemp()) / "torchrun"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m torch.distributed.run "$@"\n')
    path.chmod(0o755)
    return str(path.parent)


def test_descendants_are_found_through_every_generation() -> None:
    process = subprocess.Popen(["sh", "-c", "sh -c 'sleep 30; true' & sleep 30; true"])
    try:
        assert until(lambda: len(descendants(process.pid)) == 3, 5)
    finally:
        for pid in (process.pid, *descendants(process.pid)):
            os.kill(pid, signal.SIGKILL)
        process.wait()


def test_a_directory_without_rights_is_removed(tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("x")
    kept.chmod(0o400)
    inner = tmp_path / "gone" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    (inner / "link").symlink_to(kept)
    (inner / "file").chmod(0)
    inner.chmod(0o500)
    inner.parent.chmod(0o0)
    nobody = os.getuid() or 65534
    for each in (tmp_path, inner.parent, inner, inner / "file"):
        os.chown(each, nobody, -1)
    child = os.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.setuid(nobody)
        remove("gone")
        os._exit(0)
    os.waitpid(child, 0)
    assert not inner.parent.exists()
    assert kept.stat().st_mode & 0o777 == 0o400
