"""The worker's loop: import the libraries once, then give every job a process of its own by fork.

A job's crash, hang or leftovers die with its process; the libraries stay imported. Where there is no safe
fork the job runs in the worker itself, which then leaves, and the pool starts another.
"""

from __future__ import annotations

import importlib
import os
import shutil
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from gclint.verify.worker import exchange
from gclint.verify.worker.guard import POLL, orphaned, watch
from gclint.verify.worker.limits import die_with_parent
from gclint.verify.worker.ranks import name_ranks

CAN_FORK = sys.platform.startswith("linux") and hasattr(os, "fork")


def main(argv: list[str]) -> int:
    """Serve the jobs of the directory `argv[0]` until told to stop; return the exit status."""
    directory = Path(argv[0])
    name_ranks()
    rank = int(os.environ.get("RANK", "0"))
    settings = exchange.read_json(directory / "settings.json") or {}
    try:
        _preload(settings.get("preload", []))
    except ImportError as error:
        exchange.write_json(exchange.ready(directory, rank), {"error": str(error), "missing": error.name})
        return 1
    size = int(os.environ.get("WORLD_SIZE", "1"))
    said = {"pid": os.getpid(), "host": socket.gethostname(), "world_size": size}
    exchange.write_json(exchange.ready(directory, rank), said)
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
        if settings.get("preload"):
            _learn(exchange.read_json(exchange.imports(directory, number, rank)) or [])
        number += 1


def _preload(names: list[str]) -> None:
    for name in names:
        try:
            __import__(name)
        except ImportError:
            if name.partition(".")[0] == "torch":
                raise


def _learn(names: list[str]) -> None:
    """Import what the last run imported: the next one is likely to want it too."""
    for name in names:
        if name not in sys.modules:
            with suppress(Exception):
                importlib.import_module(name)


def _next_job(directory: Path, number: int) -> dict[str, Any] | None:
    while not exchange.stop(directory).exists():
        job: dict[str, Any] | None = exchange.read_json(exchange.job(directory, number))
        if job is not None:
            return job
        if orphaned(directory) or not directory.exists():
            shutil.rmtree(directory, ignore_errors=True)
            return None
        time.sleep(POLL)
    return None


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
    reason = watch(child, job, directory)
    path = exchange.result(directory, number, rank)
    if exchange.read_json(path) is None:
        exchange.write_json(path, reason)


def _work(job: dict[str, Any]) -> None:
    from gclint.verify.worker.job import perform_job

    perform_job(job)
