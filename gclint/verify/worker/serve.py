"""The worker's loop: import the libraries once, then give every job a process of its own by fork.

A job's crash, hang or leftovers die with its process; the libraries stay imported. Where there is no safe
fork the job runs in the worker itself, which then leaves, and the pool starts another.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from gclint.verify.worker import exchange
from gclint.verify.worker.limits import die_with_parent, resident_bytes

POLL = 0.01
CAN_FORK = sys.platform.startswith("linux") and hasattr(os, "fork")


def main(argv: list[str]) -> int:
    """Serve the jobs of the directory `argv[0]` until told to stop; return the exit status."""
    directory = Path(argv[0])
    rank = int(os.environ.get("RANK", "0"))
    settings = exchange.read_json(directory / "settings.json") or {}
    try:
        _preload(settings.get("preload", []))
    except ImportError as error:
        exchange.write_json(exchange.ready(directory, rank), {"error": str(error), "missing": error.name})
        return 1
    exchange.write_json(exchange.ready(directory, rank), {"pid": os.getpid(), "forks": CAN_FORK})
    number = int(settings.get("first_job", 0))
    while True:
        job = _next_job(directory, number)
        if job is None:
            return 0
        job = {**settings, **job, "number": number, "rank": rank, "directory": str(directory)}
        if not CAN_FORK:
            _work(job)
            return 0
        _serve(job, directory, number, rank)
        number += 1


def _preload(names: list[str]) -> None:
    for name in names:
        try:
            __import__(name)
        except ImportError:
            if name.partition(".")[0] == "torch":
                raise


def _next_job(directory: Path, number: int) -> dict[str, Any] | None:
    while not exchange.stop(directory).exists():
        job: dict[str, Any] | None = exchange.read_json(exchange.job(directory, number))
        if job is not None:
            return job
        if _orphaned() or not directory.exists():
            return None
        time.sleep(POLL)
    return None


def _orphaned() -> bool:
    """Whether the pool is gone: it holds the other end of our standard input, and writes nothing."""
    try:
        readable, _, _ = select.select([0], [], [], 0)
        return bool(readable) and os.read(0, 1) == b""
    except (OSError, ValueError):
        return False


def _serve(job: dict[str, Any], directory: Path, number: int, rank: int) -> None:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            die_with_parent()
            _work(job)
            status = 0
        finally:
            os._exit(status)
    reason = _watch(child, job, directory, number)
    path = exchange.result(directory, number, rank)
    if exchange.read_json(path) is None:
        exchange.write_json(path, reason)


def _watch(child: int, job: dict[str, Any], directory: Path, number: int) -> dict[str, Any]:
    """Wait for the job's process; return what to report if it left no result."""
    started = time.monotonic()
    allowance = resident_bytes(os.getpid()) + int(job.get("memory_limit", 1 << 62))
    ended: dict[str, Any] | None = None
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return ended or {"status": "killed", "reason": _death(status)}
        if ended is None:
            if resident_bytes(child) > allowance:
                limit = int(job["memory_limit"]) / 2**20
                ended = {
                    "status": "killed",
                    "reason": f"it used more than the memory limit of {limit:.0f} MiB",
                }
            elif exchange.cancel(directory, number).exists():
                seconds = time.monotonic() - started
                ended = {
                    "status": _cancelled(directory, number),
                    "reason": f"still running after {seconds:.0f} s",
                }
            elif _orphaned() or not directory.exists():
                os.kill(child, signal.SIGKILL)
                os._exit(1)
            if ended is not None:
                os.kill(child, signal.SIGKILL)
        time.sleep(POLL)


def _cancelled(directory: Path, number: int) -> str:
    try:
        return exchange.cancel(directory, number).read_text(encoding="utf-8") or "timeout"
    except OSError:
        return "timeout"


def _death(status: int) -> str:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with exit status {os.waitstatus_to_exitcode(status)} and left no result"


def _work(job: dict[str, Any]) -> None:
    from gclint.verify.worker.job import perform_job

    perform_job(job)
