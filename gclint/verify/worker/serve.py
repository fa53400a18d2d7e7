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
from functools import partial
from pathlib import Path
from typing import Any

from gclint.verify.worker import exchange
from gclint.verify.worker.agent import fork_ranks
from gclint.verify.worker.guard import POLL, orphaned, watch
from gclint.verify.worker.limits import CAN_FORK, die_with_parent
from gclint.verify.worker.ranks import name_ranks


def main(argv: list[str]) -> int:
    """Serve the jobs of the directory `argv[0]` until told to stop; return the exit status.

    With a number of ranks in `argv[1]` this process imports for all of them, and each of them serves.
    """
    directory = Path(argv[0])
    name_ranks()
    settings = exchange.read_json(directory / "settings.json") or {}
    try:
        _preload(settings.get("preload", []))
    except ImportError as error:
        rank = int(os.environ.get("RANK", "0"))
        exchange.write_json(exchange.ready(directory, rank), {"error": str(error), "missing": error.name})
        return 1
    serve = partial(_serve_jobs, directory, settings, dict(os.environ))
    if len(argv) == 1:
        serve()
    else:
        fork_ranks(int(argv[1]), directory.name, serve)
    return 0


def _serve_jobs(directory: Path, settings: dict[str, Any], alone: dict[str, str]) -> None:
    """Serve the jobs that this rank takes part in; `alone` is the environment of one that wants no other rank."""
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    said = {"pid": os.getpid(), "host": socket.gethostname(), "world_size": size}
    exchange.write_json(exchange.ready(directory, rank), said)
    number = int(settings.get("first_job", 0))
    while True:
        job = _next_job(directory, number)
        if job is None:
            return
        job = {**settings, **job, "number": number, "rank": rank, "directory": str(directory)}
        if rank < job["ranks"] and CAN_FORK:
            _serve(job, alone)
        elif rank < job["ranks"]:
            _work(job, alone)
        if not CAN_FORK:
            return
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


def _serve(job: dict[str, Any], alone: dict[str, str]) -> None:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            die_with_parent()
            _work(job, alone)
            status = 0
        finally:
            os._exit(status)
    directory = Path(job["directory"])
    reason = watch(child, job, directory)
    path = exchange.result(directory, job["number"], job["rank"])
    if exchange.read_json(path) is None:
        exchange.write_json(path, reason)


def _work(job: dict[str, Any], alone: dict[str, str]) -> None:
    from gclint.verify.worker.job import perform_job

    if job["ranks"] == 1:
        os.environ.clear()
        os.environ.update(alone)
    perform_job(job)
