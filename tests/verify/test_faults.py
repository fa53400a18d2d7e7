"""What the machine refuses is told in one line, and costs no more than what needs it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from planted import command, environment, plant
from scripts import script

from gclint.verify import Options, ProgramRecipe, Verifier, VerifyUnavailable
from gclint.verify.pool import _last_line
from gclint.verify.worker import exchange, serve

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux"),
]
GOOD = script()
LIMITED = """
import resource, sys
from gclint.verify import Options, ProgramRecipe, Verifier, VerifyUnavailable
resource.setrlimit(resource.{limit}, ({value}, {value}))
try:
    with Verifier(Options(device="cpu", timeout=30)) as verifier:
        print(verifier.outcome(ProgramRecipe("a", "import torch")).status)
except VerifyUnavailable as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("limit", "value", "told"),
    [
        ("RLIMIT_FSIZE", 0, "verification cannot keep its files in {tmp}"),
        ("RLIMIT_AS", 200 << 20, "the workers cannot import their libraries: "),
    ],
)
def test_a_limit_is_told(tmp_path: Path, limit: str, value: int, told: str) -> None:
    made = subprocess.run(
        [sys.executable, "-c", LIMITED.format(limit=limit, value=value)],
        env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (made.returncode, made.stderr, len(made.stdout.splitlines())) == (0, "", 1), made
    assert made.stdout.startswith(told.format(tmp=tmp_path)), made.stdout
    assert not list(tmp_path.iterdir())


def test_no_process_more_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(serve.os, "fork", refused)
    key = exchange.Key("k")
    serve._serve({"directory": str(tmp_path), "number": 0, "rank": 0}, {}, key)
    found = exchange.read_signed(exchange.result(tmp_path, 0, 0), key)
    assert found == {
        "status": "killed",
        "reason": "no process can be started for it: Resource temporarily unavailable",
    }


def test_ranks_without_a_loopback_are_told(tmp_path: Path) -> None:
    inside = ("unshare", "-rn")
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("network namespaces are not to be had here")
    program = plant(tmp_path, "lr=0.1", "lr=1e-1", 'dist.init_process_group("gloo")')
    text = program.read_text()
    words = [*inside, *command(program, "--program", "torchrun --nproc_per_node 2 train.py")]
    made = subprocess.run(
        words, cwd=program.parent, env=environment(program), capture_output=True, text=True, timeout=120, check=False
    )
    assert made.returncode == 2, made
    assert made.stderr.count("\n") == 1 and "several processes need the loopback interface" in made.stderr, made.stderr
    assert program.read_text() == text


@pytest.mark.parametrize("broken", ["raise RuntimeError('operator does not exist')", "import sys; sys.exit(3)"])
def test_a_broken_package_costs_the_programs_that_import_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    (tmp_path / "peft.py").write_text(broken)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Verifier(Options(device="cpu", timeout=30)) as verifier:
        assert verifier.outcome(ProgramRecipe("names it", f"{GOOD}\n# accelerate")).status == "finished"
        imports = verifier.outcome(ProgramRecipe("imports it", "import peft"))
        assert imports.status in ("raised", "not-run") and imports.summary
        assert verifier.outcome(ProgramRecipe("again", f"{GOOD}\n# accelerate again")).status == "finished"


def test_the_start_has_the_time_of_a_run_and_its_work_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("gclint.verify.patience.TOLD", 1.0)
    program = ProgramRecipe("slow", f"{GOOD}\n# accelerate")

    def started(text: str, timeout: float) -> list[str]:
        (tmp_path / "peft.py").write_text(text)
        told: list[str] = []
        with Verifier(Options(device="cpu", timeout=timeout, start_timeout=5), told.append) as verifier:
            verifier.outcome(program)
        return told

    idle = "import time; time.sleep(12)"
    with pytest.raises(VerifyUnavailable, match=r"did not start within \d+ s \(--timeout gives them longer\)"):
        started(idle, 5)
    assert any("import their libraries" in each for each in started(idle, 60))
    busy = "import time\nend = time.monotonic() + 12\nwhile time.monotonic() < end: pass"
    began = time.monotonic()
    started(busy, 5)
    assert time.monotonic() - began > 12


def test_the_line_of_a_log_that_says_most() -> None:
    log = "Traceback (most recent call last):\n  File x\ntorch.distributed.DistNetworkError: address in use\n=====\n"
    assert _last_line(log) == "torch.distributed.DistNetworkError: address in use"
    assert [_last_line(each) for each in ("", "one\n\ntwo\n")] == ["no output", "two"]


def test_a_disk_that_fills_up_is_told_at_once(monkeypatch, tmp_path):
    from types import SimpleNamespace

    from gclint.verify import pool

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(pool.shutil, "disk_usage", lambda path: SimpleNamespace(free=1024))
    crew = pool.Crew((1, (), ()), Options(), None)
    with pytest.raises(OSError, match="No space left on device"):
        crew._await_ready()
    assert crew.process is None, "the workers are ended"
    crew.close()
