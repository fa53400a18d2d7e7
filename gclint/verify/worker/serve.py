"""The worker's loop: import the libraries once, then give every job a process of its own by fork.

A job's crash, hang or leftovers, and what it started, die with its process; the libraries stay imported. Where there is
no safe fork the job runs in the worker itself, which then leaves, and the pool starts another.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from gclint.verify.codec import to_data
from gclint.verify.worker import exchange
from gclint.verify.worker.agent import fork_ranks
from gclint.verify.worker.guard import POLL, orphaned, settled, watch
from gclint.verify.worker.limits import CAN_FORK
from gclint.verify.worker.ranks import name_ranks
from gclint.verify.worker.report import Pipe
from gclint.verify.worker.supervise import adopt_orphans, descendants, die_with_parent, end_descendants, remove

SELDOM = 0.25
"""Seconds between two looks for a job, after a few seconds without one."""


def main(argv: list[str]) -> int:
    """Serve the jobs of the directory `argv[0]` until told to stop; return the exit status.

    With a number of ranks in `argv[1]` this process imports for all of them, and each of them serves.
    """
    directory = Path(argv[0])
    name_ranks()
    settings = exchange.read_json(directory / "settings.json") or {}
    try:
        _preload(settings.get("preload", []))
    except (Exception, SystemExit) as error:
        rank, missing = int(os.environ.get("RANK", "0")), getattr(error, "name", None)
        said = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}".rstrip(": ")
        exchange.write_json(exchange.ready(directory, rank), {"error": said, "missing": missing})
        return 1
    key = exchange.Key(settings.pop("key", ""))
    serve = partial(_serve_jobs, directory, settings, key, dict(os.environ))
    if len(argv) == 1:
        serve()
    else:
        fork_ranks(int(argv[1]), directory.name, serve)
    return 0


def _serve_jobs(directory: Path, settings: dict[str, Any], key: exchange.Key, alone: dict[str, str]) -> None:
    """Serve the jobs that this rank takes part in; `alone` is the environment of one that wants no other rank."""
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    said = {"pid": os.getpid(), "host": socket.gethostname(), "world_size": size}
    exchange.write_json(exchange.ready(directory, rank), said)
    adopt_orphans()
    number = int(settings.get("first_job", 0))
    while True:
        job = _next_job(directory, number, key)
        if job is None:
            return
        job = {**settings, **job, "number": number, "rank": rank, "directory": str(directory)}
        if not CAN_FORK:
            if rank < job["ranks"]:
                _work(job, alone, partial(_write_report, exchange.result(directory, number, rank), key))
            return
        imported = _serve(job, alone, key) if rank < job["ranks"] else []
        if settings.get("preload"):
            _learn(imported)
        number += 1


def _preload(names: list[str]) -> None:
    for name in names:
        try:
            __import__(name)
        except (Exception, SystemExit):
            if name.partition(".")[0] == "torch":
                raise


def _learn(names: list[str]) -> None:
    """Import what the last run imported: the next one is likely to want it too."""
    for name in names:
        if name not in sys.modules:
            with suppress(Exception, SystemExit):
                importlib.import_module(name)


def _next_job(directory: Path, number: int, key: exchange.Key) -> dict[str, Any] | None:
    """Wait for a job, and the longer it takes the more seldom look for it: a pool may be kept for minutes."""
    began = time.monotonic()
    while not exchange.stop(directory).exists():
        job: dict[str, Any] | None = exchange.read_signed(exchange.job(directory, number), key)
        if job is not None:
            return job
        if orphaned(directory) or not directory.exists():
            remove(str(directory))
            return None
        time.sleep(min(SELDOM, max(POLL, (time.monotonic() - began) / 20)))
    return None


def _serve(job: dict[str, Any], alone: dict[str, str], key: exchange.Key) -> list[str]:
    """Run a job in a process of its own, end what it leaves, write its result; return the modules that it imported."""
    known, guard, pipe = frozenset(descendants(os.getpid())), os.getpid(), Pipe()
    try:
        child = os.fork()
    except OSError as error:
        child, reason = -1, {"status": "killed", "reason": f"no process can be started for it: {error.strerror}"}
    if child == 0:
        status = 1
        try:
            die_with_parent(guard)
            pipe.in_job()
            key.forget()
            _work(job, alone, pipe.send)
            status = 0
        finally:
            os._exit(status)
    pipe.in_guard()
    directory = Path(job["directory"])
    if child > 0:
        reason = watch(child, pipe, job, directory)
    end_descendants(keep=known)
    result, imported = settled(pipe, reason)
    _write_result(exchange.result(directory, job["number"], job["rank"]), result, key)
    return imported


def _write_result(path: Path, result: dict[str, Any], key: exchange.Key) -> None:
    """Write a result in place of whatever a run has put there; the reason alone where the disk is full."""
    if path.is_dir():
        remove(str(path))
    try:
        exchange.write_signed(path, result, key)
    except OSError as error:
        reason = f"its report cannot be written: {error.strerror}"
        with suppress(OSError):
            exchange.write_signed(path, {"status": "killed", "reason": reason}, key)


def _write_report(path: Path, key: exchange.Key, report: Any, imports: list[str]) -> None:
    _write_result(path, to_data(report), key)


def _work(job: dict[str, Any], alone: dict[str, str], send: Callable[[Any, list[str]], None]) -> None:
    from gclint.verify.worker.job import perform_job

    if job["ranks"] == 1:
        os.environ.clear()
        os.environ.update(alone)
    perform_job(job, send)
