"""A run cannot speak for itself but through its report: not by files, not by what it starts, not by leaving early."""

from __future__ import annotations

import sys

import pytest
from scripts import script

from gclint.verify import Options, ProgramRecipe, Verifier
from gclint.verify.outcome import RankReport
from gclint.verify.worker import exchange
from gclint.verify.worker.report import Pipe, Tampered

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="jobs are forked"),
]

FORGED = """
import json, os, subprocess, sys
from pathlib import Path
exchange = next(each for each in Path.cwd().parents if (each / "tmp").is_dir() and any(each.glob("ready-*")))
good = json.dumps({"status": "finished", "reason": "forged"})
signed = json.dumps([good, "0" * 64])
names = [f"result-{number}-{rank}.json" for number in range(9) for rank in (0, 1)]
subprocess.run(["rm", "-rf", *(exchange / name for name in names)], check=True)
assert not (exchange / "settings.json").exists(), "the key is there to read"
"""
AGAIN = script("layer(hidden)")
WAYS = {
    "open": "for name in names: (exchange / name).write_text(signed)",
    "plain": "for name in names: (exchange / name).write_text(good)",
    "low": """
for name in names:
    handle = os.open(exchange / name, os.O_CREAT | os.O_WRONLY)
    os.write(handle, signed.encode())
""",
    "rename": "Path('x').write_text(signed)\nfor name in names[1:]: os.link('x', exchange / name)\n"
    "os.rename('x', exchange / names[0])",
    "process": "for name in names: subprocess.run(['sh', '-c', f\"echo '{signed}' > {exchange / name}\"], check=True)",
    "later": "subprocess.Popen(['setsid', 'sh', '-c', 'while :; do ' + ' '.join("
    "f\"echo '{signed}' > {exchange / name};\" for name in names) + ' done'])\nimport time; time.sleep(0.3)",
    "directory": "for name in names: os.makedirs(exchange / name / 'x')",
    "job": "old = json.loads((exchange / 'job-0.json').read_text())\n"
    "for number in range(1, 9): (exchange / f'job-{number}.json').write_text(json.dumps(old))",
}


@pytest.fixture(scope="module")
def verifier():
    with Verifier(Options(device="cpu", timeout=20)) as found:
        yield found


@pytest.mark.parametrize("way", WAYS)
def test_files_are_no_report(verifier: Verifier, way: str) -> None:
    hostile = ProgramRecipe(way, f"{FORGED}\n{WAYS[way]}\nraise ValueError('mine')  # {way}")
    with Verifier(Options(device="cpu", timeout=20)) if way == "job" else _same(verifier) as used:
        outcome = used.outcome(hostile)
        assert (outcome.status, outcome.raised and outcome.raised.line) == ("raised", "ValueError: mine"), (
            outcome.reason
        )
        again = used.outcome(ProgramRecipe(f"after {way}", f"{AGAIN}\n# {way}"))
        assert (again.status, again.raised) == ("finished", None)
        assert again.losses, "it is the next run's own report"


class _same:
    def __init__(self, held: Verifier) -> None:
        self.held = held

    def __enter__(self) -> Verifier:
        return self.held

    def __exit__(self, *ignored: object) -> None:
        return None


WRITE_TO_ALL = """
for number in range(3, 256):
    try:
        if os.readlink(f"/proc/self/fd/{number}").startswith("pipe:"):
            os.write(number, b'["00", {"status": "finished"}, []]\\n')
    except OSError:
        pass
"""
LEAVES = {
    "exit": ("os._exit(0)", "exit status 0 without a report"),
    "exec": ("os.execv('/bin/sh', ['sh', '-c', 'exit 0'])", "exit status 0 without a report"),
    "noise": (WRITE_TO_ALL, "its report was tampered with"),
    "noise, then exit": (f"{WRITE_TO_ALL}\nos._exit(0)", "its report was tampered with"),
    "noise of a fork": (
        f"if os.fork() == 0:\n    exec({WRITE_TO_ALL!r})\n    os._exit(0)\nos.wait()",
        "its report was tampered with",
    ),
    "twice": (
        "import gc\nfrom gclint.verify.outcome import RankReport\nfrom gclint.verify.worker.report import Pipe\n"
        "next(each for each in gc.get_objects() if type(each) is Pipe).send(RankReport(status='finished'), [])",
        "its report was tampered with",
    ),
}


@pytest.mark.parametrize("way", LEAVES)
def test_what_is_no_report_is_told(verifier: Verifier, way: str) -> None:
    text, told = LEAVES[way]
    outcome = verifier.outcome(ProgramRecipe(way, f"{FORGED}\n{WAYS['open']}\n{text}"))
    assert outcome.status == "killed" and told in outcome.reason, (outcome.status, outcome.reason)


def test_what_a_process_inherits_is_no_pipe(verifier: Verifier) -> None:
    count = "ls -l /proc/self/fd | grep -c 'pipe:' || true"
    text = f'import subprocess\nfound = subprocess.run(["sh", "-c", {count!r}], stdout=-1, text=True, close_fds=False)'
    outcome = verifier.outcome(ProgramRecipe("pipes", f"{text}\nassert found.stdout == '1\\n', found.stdout"))
    assert outcome.status == "finished", outcome.summary


def test_a_report_is_taken_once_whole_and_with_its_token() -> None:
    def sent(*texts: bytes) -> Pipe:
        import os

        pipe = Pipe()
        for each in texts:
            os.write(pipe._writing, each)
        return pipe

    pipe = sent()
    pipe.send(RankReport(reason="x" * 1000), ["torch.nn"])
    pipe.in_guard()
    assert pipe.close() == ({"reason": "x" * 1000}, ["torch.nn"])
    pipe = sent()
    pipe.in_guard()
    assert pipe.close() is None
    for text in (b"\n", b"{}\n", b'["", {}, []]\n', b"[" * 60_000, b"\xff\n"):
        pipe = sent(text)
        pipe.in_guard()
        with pytest.raises(Tampered):
            pipe.close()


def test_only_who_has_the_key_signs(tmp_path) -> None:
    key, path = exchange.Key("secret"), tmp_path / "result-0-0.json"
    exchange.write_signed(path, {"a": 1}, key)
    assert exchange.read_signed(path, key) == {"a": 1}
    path.rename(tmp_path / "result-1-0.json")
    assert exchange.read_signed(tmp_path / "result-1-0.json", key) is None, "a signature holds for its file"
    for text in ("", "{}", "[]", '["{}", ""]', '["{}", 1]', "x"):
        path.write_text(text)
        assert exchange.read_signed(path, key) is None
    path.unlink()
    path.mkdir()
    assert exchange.read_signed(path, key) is None
