"""Watches over one job's process: its memory, the pool's wish to end it, the pool's own end."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from gclint.verify.worker import exchange
from gclint.verify.worker.limits import resident_bytes
from gclint.verify.worker.report import TAMPERED, Pipe, Tampered
from gclint.verify.worker.supervise import remove

POLL = 0.01
SILENCE = 120.0
OUTPUT = 64 << 20


def orphaned(directory: Path) -> bool:
    """Return whether the pool is gone.

    It holds the other end of our standard input, and writes nothing; a launcher of the user may not pass that on, so
    there the pool touches a file.
    """
    with suppress(OSError):
        return time.time() - exchange.alive(directory).stat().st_mtime > SILENCE
    try:
        readable, _, _ = select.select([0], [], [], 0)
        return bool(readable) and os.read(0, 1) == b""
    except (OSError, ValueError):
        return False


def watch(child: int, pipe: Pipe, job: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Wait for the job's process; return what to report if it sends nothing."""
    started = time.monotonic()
    limit = int(job.get("memory_limit", 1 << 62))
    allowance = resident_bytes(os.getpid()) + limit
    cancelled = exchange.cancel(directory, int(job["number"]))
    printed = exchange.output(directory, int(job["number"]), int(job["rank"]))
    ended: dict[str, Any] | None = None
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return ended or {"status": "killed", "reason": _death(status)}
        if ended is None:
            if resident_bytes(child) > allowance:
                ended = {"status": "killed", "reason": f"it used more than the limit of {limit >> 20} MiB of memory"}
            elif _size(printed) > OUTPUT:
                ended = {"status": "killed", "reason": f"it printed more than {OUTPUT >> 20} MiB"}
            elif cancelled.exists():
                ended = _stuck(child, job, directory, time.monotonic() - started)
            elif orphaned(directory) or not directory.exists():
                os.kill(child, signal.SIGKILL)
                remove(str(directory))
                os._exit(1)
            if ended is not None:
                os.kill(child, signal.SIGKILL)
        pipe.wait(min(5 * POLL, max(POLL, (time.monotonic() - started) / 20)))


def settled(pipe: Pipe, reason: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What a job's process has reported, with the modules that it imported, or the `reason` why it has not."""
    try:
        return pipe.close() or (reason, [])
    except Tampered:
        return {"status": "killed", "reason": TAMPERED}, []


def _stuck(child: int, job: dict[str, Any], directory: Path, seconds: float) -> dict[str, Any]:
    """Ask the job's process where it is, before it is ended."""
    path = directory / f"stack-{job['number']}-{job['rank']}.txt"
    text = ""
    with suppress(OSError):
        if path.exists():
            os.kill(child, signal.SIGUSR1)
            time.sleep(0.2)
            text = path.read_text(encoding="utf-8", errors="replace")
    frames = re.findall(r'File "(.*?)", line (\d+) in (\S+)', text)
    collective = any("torch/distributed/" in name for name, _, _ in frames[:4])
    where = f" in {frames[0][2]} ({Path(frames[0][0]).name}:{frames[0][1]})" if frames else ""
    status = "hung" if collective else "timeout"
    return {"status": status, "reason": f"still running{where} after {seconds:.0f} s"}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _death(status: int) -> str:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with exit status {os.waitstatus_to_exitcode(status)} without a report"
