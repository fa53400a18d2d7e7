from __future__ import annotations

import os
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

from gclint.verify import Options, ProgramRecipe, Verification, Verifier, VerifyUnavailable, verify

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

RANK_OF_TORCHRUN = """
import multiprocessing, os, signal, sys, torch.distributed as dist
from pathlib import Path
assert os.environ["WORLD_SIZE"] == os.environ["LOCAL_WORLD_SIZE"] == "2"
assert os.environ["RANK"] == os.environ["LOCAL_RANK"]
assert dist.is_torchelastic_launched() and os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "True"
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
dist.init_process_group("gloo")
agents = [None, None]
server = Path(f"/proc/{os.getppid()}/status").read_text()
dist.all_gather_object(agents, next(line.split()[1] for line in server.splitlines() if line.startswith("PPid:")))
assert agents[0] == agents[1], "one agent has started both ranks"
"""


def workers() -> set[int]:
    """The workers that this test process started: those whose temporary files lie below its own."""
    found = set()
    mine = f"TMPDIR={tempfile.gettempdir()}/gclint-verify-".encode()
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
    before, files = workers(), set(scratch.iterdir())
    yield
    deadline = time.monotonic() + 10
    while workers() - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not workers() - before
    assert set(scratch.iterdir()) == files


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
    assert "rank 0 waited in a collective that another rank never joined" in found.verdict.reason


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
        ("while True: print('x' * 100000)", "killed", "printed more than 64 MiB"),
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


def test_ranks_are_what_torchrun_makes_them_and_share_one_import(clean: None) -> None:
    importer = """command = Path(f"/proc/{agents[0]}/cmdline").read_text()
assert "bootstrap.py" in command and "torch.distributed.run" not in command, command
"""
    with Verifier(Options(device="cpu", timeout=30)) as verifier:
        outcome = verifier.outcome(ProgramRecipe("rank", RANK_OF_TORCHRUN + importer, world_size=2))
    assert outcome.status == "finished", outcome.summary


def test_cold_ranks_are_started_by_torchrun_and_have_imported_nothing(clean: None) -> None:
    text = f"import sys\nassert 'torch' not in sys.modules\n{RANK_OF_TORCHRUN}"
    with Verifier(Options(device="cpu", timeout=60)) as verifier:
        outcome = verifier.outcome(ProgramRecipe("cold", text, world_size=2, cold=True))
    assert outcome.status == "finished", outcome.summary


def test_a_run_leaves_no_copy_of_the_project_while_its_workers_wait(clean: None, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('here'); open('made.txt', 'w').write('x')")
    recipe = ProgramRecipe("copy", name="train.py", copy_of=str(tmp_path))
    with Verifier(Options(device="cpu", timeout=20)) as verifier:
        assert verifier.outcome(recipe).status == verifier.outcome(GOOD).status == "finished"
        (crew,) = Path(tempfile.gettempdir()).glob("gclint-verify-*")
        left = [path.name for path in crew.iterdir() if path.is_dir() or path.name.startswith("output")]
        assert left == ["tmp"]
    assert not (tmp_path / "made.txt").exists()


def test_a_project_with_links_runs_and_nothing_is_written_through_them(clean: None, tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "rows.txt").write_text("3")
    (outside / "linked.py").write_text("VALUE = 1\n")
    (project / "data").symlink_to(outside, target_is_directory=True)
    (project / "linked.py").symlink_to(outside / "linked.py")
    os.mkfifo(project / "pipe.py")
    (project / "train.py").write_text(
        "import linked\nassert linked.VALUE == 2 and open('data/rows.txt').read() == '3'\n"
        "open('data/rows.txt', 'w').write('4')\nassert open('data/new.txt', 'w').write('5')"
    )
    recipe = ProgramRecipe("links", name="train.py", copy_of=str(project), files={"linked.py": "VALUE = 2\n"})
    with Verifier(Options(device="cpu", timeout=20)) as verifier:
        outcome = verifier.outcome(recipe)
    assert outcome.status == "finished", outcome.summary
    assert sorted(path.name for path in outside.iterdir()) == ["linked.py", "rows.txt"]
    assert [(outside / name).read_text() for name in ("linked.py", "rows.txt")] == ["VALUE = 1\n", "3"]


ALONE = """
import os, sys, torch
assert not [name for name in os.environ if name.startswith(("TORCHELASTIC", "MASTER_", "RANK", "WORLD", "LOCAL_"))]
assert not torch.distributed.is_torchelastic_launched() and not torch.distributed.is_initialized()
"""


def test_one_process_runs_alone_among_workers_that_are_there_already(clean: None) -> None:
    one, two = ProgramRecipe("alone", ALONE), ProgramRecipe("rank", RANK_OF_TORCHRUN, world_size=2)
    before = workers()
    with Verifier(Options(device="cpu", timeout=60)) as verifier:
        verifier.expect([one, two])
        assert [verifier.outcome(each).summary.split(";")[0] for each in (one, two, GOOD)][:2] == ["loss none"] * 2
        assert verifier.outcome(one).world_size == 1 and verifier.outcome(two).world_size == 2
        assert len(workers() - before) == 4, "the supervisor, the agent and two workers"


def test_workers_that_end_while_they_start_are_told(clean: None) -> None:
    with Verifier(Options(device="cpu", launcher="false --for")) as verifier:
        recipe = ProgramRecipe("two", GOOD.text, world_size=2)
        verifier.expect([recipe])
        time.sleep(0.5)
        with pytest.raises(VerifyUnavailable, match="the workers did not start"):
            verifier.outcome(recipe)


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
