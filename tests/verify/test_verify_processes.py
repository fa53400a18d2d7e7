from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scripts import DDP, script

from gclint.verify import Options, ProgramRecipe, Verification, Verifier, verify

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc"),
]

GOOD = ProgramRecipe("good", script())
STUCK = """
import time, torch.distributed as dist
dist.init_process_group("gloo")
if dist.get_rank() == 0:
    dist.barrier()
else:
    time.sleep(1000)
"""


def workers() -> set[int]:
    """The workers that this test process started: those with its temporary directory in their environment."""
    found = set()
    mine = f"TMPDIR={tempfile.gettempdir()}\0".encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"bootstrap.py" in path.read_bytes() and mine in (path.parent / "environ").read_bytes() + b"\0":
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.fixture
def clean(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process and no file of ours is left after the test; tests that run beside it have their own directory."""
    scratch = tmp_path_factory.mktemp("scratch")
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    before, files = workers(), set(scratch.glob("gclint-verify-*"))
    yield
    deadline = time.monotonic() + 10
    while workers() - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not workers() - before
    assert not set(scratch.glob("gclint-verify-*")) - files


def quick(text: str, **more: object) -> Verification:
    options = Options(device="cpu", timeout=4, memory_limit=2**29)
    before = ProgramRecipe("bad", text, **more)  # type: ignore[arg-type]
    return verify(before, GOOD, options=options)


def test_a_hang_is_told_in_bounded_time(clean: None) -> None:
    started = time.monotonic()
    found = quick(STUCK, world_size=2)
    assert time.monotonic() - started < 45
    assert found.verdict.name == "unverified"
    assert found.before.status == "hung"
    assert "rank 0 still running in barrier" in found.verdict.reason


def test_a_rank_that_leaves_a_collective(clean: None) -> None:
    text = script(setup=DDP + "if dist.get_rank() == 0: dist.barrier()")
    found = quick(text, world_size=2)
    assert found.verdict.name == "unverified"
    assert found.before.status == "hung"


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed", "SIGKILL"),
        ("import os; os._exit(7)", "killed", "exit status 7"),
        ("import torch\nkept = []\nwhile True: kept.append(torch.ones(1 << 22))", "killed", "512 MiB"),
        ("while True: pass", "timeout", "still running in <module>"),
    ],
)
def test_a_worker_that_dies_is_an_outcome(verifier: Verifier, text: str, status: str, told: str) -> None:
    found = quick(text)
    assert (found.verdict.name, found.before.status) == ("unverified", status)
    assert told in found.verdict.reason
    assert found.after.status == "finished"


def test_a_pool_survives_the_death_of_its_worker() -> None:
    with Verifier(Options(device="cpu", timeout=20)) as verifier:
        assert verifier.outcome(GOOD).status == "finished"
        kill = "import os, signal; os.kill(os.getppid(), signal.SIGKILL); import time; time.sleep(60)"
        outcome = verifier.outcome(ProgramRecipe("kill", kill))
        assert outcome.status == "killed", outcome.reason
        assert verifier.outcome(ProgramRecipe("again", script("layer(hidden)"))).status == "finished"


def test_two_verifications_at_once(clean: None) -> None:
    text = script("layer(hidden)", DDP, "ddp(x)")

    def one(number: int) -> str:
        recipe = ProgramRecipe(str(number), text, world_size=2)
        return verify(recipe, recipe, options=Options(device="cpu", timeout=60)).verdict.name

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(one, range(2))) == ["passes", "passes"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_leaves_nothing(clean: None, sent: signal.Signals) -> None:
    code = (
        "from gclint.verify import *\n"
        f"recipe = ProgramRecipe('stuck', {STUCK!r}, world_size=2)\n"
        "verify(recipe, recipe, options=Options(device='cpu'))\n"
    )
    before = workers()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(workers() - before) < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(workers() - before) >= 5, "the agent, two workers and their two runs"
    process.send_signal(sent)
    assert process.wait(timeout=20) != 0
