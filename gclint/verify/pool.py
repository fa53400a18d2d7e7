"""Warm workers: started once per topology, given one run after another, replaced when they hang."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from gclint.verify import launch
from gclint.verify.codec import from_data
from gclint.verify.errors import MISSING_TORCH, VerifyUnavailable
from gclint.verify.footprint import Footprint
from gclint.verify.options import Options
from gclint.verify.outcome import RankReport
from gclint.verify.patience import Patience
from gclint.verify.project import program_text
from gclint.verify.recipe import AnyRecipe, ProgramRecipe, recipe_to_data
from gclint.verify.worker import exchange
from gclint.verify.worker.supervise import remove
from gclint.verify.written import written

POLL = 0.02
GRACE = 5.0
LEAST_ROOM = 256 * 1024  # bytes: a report is smaller
QUEUE = 5  # a user's launcher may wait for its nodes
LIBRARIES = ("torch", "torch.distributed", "torch.utils.checkpoint", "torch._dynamo")
EXTRAS = ("transformers", "accelerate", "peft", "transformers.modeling_utils")
Topology = tuple[int, tuple[str, ...], tuple[tuple[str, str], ...]]


class Crew:
    """The workers of one topology: `world_size` ranks with the same variables set and libraries imported.

    Rank 0 alone runs what wants one process, without the others' variables.
    """

    def __init__(self, topology: Topology, options: Options, progress: Callable[[str], None] | None = None):
        self.world_size, self.preload, self.variables = topology
        self.options, self.progress = options, progress
        self.directory = Path(tempfile.mkdtemp(prefix="gclint-verify-"))
        self.key = exchange.Key("")
        self.number = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.leaders: list[int] = []
        self.is_ready = False

    def run(self, recipe: AnyRecipe, reference: bool) -> list[RankReport]:
        """Run a recipe on every rank and return the ranks' reports; bounded in time whatever it does."""
        self._await_ready()
        number = self.number
        ranks = 1 if recipe.world_size == 1 else self.world_size
        job = {
            "recipe": recipe_to_data(recipe),
            "ranks": ranks,
            "reference": reference,
            "saved_bytes": self.options.saved_bytes,
            "timeout": self.options.timeout,
        }
        exchange.write_signed(exchange.job(self.directory, number), job, self.key)
        self.number += 1
        began, deadline = time.time(), time.monotonic() + self.options.timeout
        reports = self._collect(number, ranks, deadline)
        if any(each is None for each in reports):
            self._cancel(number, reports)
        files = self._written(recipe, number, began)
        self._sweep(number, ranks)
        first, *others = [_report(each) for each in reports]
        return [replace(first, files=files), *others]

    def _written(self, recipe: AnyRecipe, number: int, began: float) -> dict[str, str]:
        """What a program wrote in the directory that its ranks share, or that of its only rank."""
        if not isinstance(recipe, ProgramRecipe):
            return {}
        place = exchange.scratch(self.directory, number, None if recipe.copy_of is not None else 0)
        return written(place, began, {recipe.name, *recipe.files})

    def close(self) -> None:
        """End the workers and remove their directory."""
        self._end()
        remove(str(self.directory))

    def _collect(self, number: int, ranks: int, deadline: float) -> list[dict[str, Any] | None]:
        """Wait for results; once a rank has failed, or left, the others get a few seconds more."""
        reports: list[dict[str, Any] | None] = [None] * ranks
        while any(each is None for each in reports) and time.monotonic() < deadline:
            ended = self._has_ended()
            if self._read(number, reports):
                deadline = min(deadline, time.monotonic() + max(GRACE, self.options.timeout / 4))
            if ended:
                break
            self._breathe()
            self._ask_for_room()
            time.sleep(POLL)
        return reports

    def _cancel(self, number: int, reports: list[dict[str, Any] | None]) -> None:
        """End the ranks that still run, and collect what they say of it."""
        exchange.cancel(self.directory, number).touch()
        answer = time.monotonic() + GRACE
        while time.monotonic() < answer and any(each is None for each in reports) and not self._has_ended():
            self._read(number, reports)
            time.sleep(POLL)
        if any(each is None for each in reports):
            self._end()
            for rank, known in enumerate(reports):
                if known is None:
                    reports[rank] = {"status": "killed", "reason": "its worker did not answer and was ended"}

    def _read(self, number: int, reports: list[dict[str, Any] | None]) -> bool:
        """Fill in the results that have come; return whether there were any."""
        missing = [rank for rank, known in enumerate(reports) if known is None]
        for rank in missing:
            reports[rank] = exchange.read_signed(exchange.result(self.directory, number, rank), self.key)
        return any(reports[rank] is not None for rank in missing)

    def _has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def _sweep(self, number: int, ranks: int) -> None:
        """Remove what a job leaves: copies of the project, what it wrote there and what it printed."""
        remove(str(exchange.run(self.directory, number)))
        for rank in range(ranks):
            exchange.output(self.directory, number, rank).unlink(missing_ok=True)

    def start(self) -> None:
        """Start the workers unless they are there; `run` waits until they are ready, and tells why they are not."""
        if self.process is not None and not (self.is_ready and self._has_ended()):
            return
        self._end()
        for rank in range(self.world_size):
            exchange.ready(self.directory, rank).unlink(missing_ok=True)
        secret = secrets.token_hex(32)
        self.key = exchange.Key(secret)
        settings = {
            "key": secret,
            "preload": list(self.preload),
            "memory_limit": self.options.memory_limit,
            "threads": self.options.threads,
            "device": self.options.device,
            "first_job": self.number,
        }
        exchange.write_json(self.directory / "settings.json", settings)
        variables, warm = dict(self.variables), bool(self.preload)
        self.process = launch.start(self.directory, self.world_size, self.options, variables, warm)
        self.is_ready = False

    def _await_ready(self) -> None:
        """Start the workers, or new ones in place of those that ended, and wait until all have their libraries."""
        self.start()
        if self.is_ready:
            return
        queue = 1 if self.options.launcher is None else QUEUE
        patience = Patience(
            None if self.process is None else self.process.pid, self.options.patience * queue, self.progress
        )
        waiting = set(range(self.world_size))
        while waiting:
            for rank in sorted(waiting):
                self._breathe()
                said = exchange.read_json(exchange.ready(self.directory, rank))
                if said is None:
                    continue
                if "error" in said:
                    self._end()
                    raise VerifyUnavailable(_missing(said, self.options))
                if said["host"] == socket.gethostname():
                    self.leaders.append(int(said["pid"]))
                waiting.discard(rank)
                if said["world_size"] != self.world_size:
                    waiting = self._resize(int(said["world_size"]), waiting)
                    break
            if waiting and (self._has_ended() or patience.is_over()):
                why = "" if self._has_ended() else f" within {patience.passed:.0f} s (--timeout gives them longer)"
                log = (self.directory / "log.txt").read_text(encoding="utf-8", errors="replace")
                self._end()
                raise VerifyUnavailable(f"the workers did not start{why}: {_last_line(log)}")
            self._ask_for_room()
            time.sleep(POLL)
        (self.directory / "settings.json").unlink(missing_ok=True)
        self.is_ready = True

    def _resize(self, size: int, waiting: set[int]) -> set[int]:
        """Take the number of ranks that the user's launcher started; return those to wait for."""
        if size < 2:
            self._end()
            raise VerifyUnavailable(f"`{self.options.launcher}` starts one process; two or more are needed")
        heard = set(range(self.world_size)) - waiting
        self.world_size = size
        return set(range(size)) - heard

    def _ask_for_room(self) -> None:
        """Raise OSError where the disk is full: workers that cannot write what they found would be waited for."""
        if shutil.disk_usage(self.directory).free < LEAST_ROOM:
            self._end()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.directory.parent))

    def _breathe(self) -> None:
        """Say that the pool lives, where workers cannot tell by their standard input."""
        if self.options.launcher is not None and self.directory.exists():
            exchange.alive(self.directory).touch()

    def _end(self) -> None:
        if self.process is not None and self.options.launcher is not None:
            exchange.stop(self.directory).touch()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=GRACE)
            exchange.stop(self.directory).unlink(missing_ok=True)
        if self.process is not None:
            launch.end(self.process, self.leaders)
        self.process, self.leaders = None, []


class Pool:
    """The crews of one verification, by topology; a context manager that leaves nothing behind."""

    def __init__(self, options: Options, progress: Callable[[str], None] | None = None):
        self.options, self.progress = options, progress
        self._crews: dict[Topology, Crew] = {}

    def run(self, recipe: AnyRecipe, reference: bool = False) -> list[RankReport]:
        """Run a recipe and return its ranks' reports."""
        with _storage():
            return self._crew(recipe).run(recipe, reference)

    def expect(self, recipes: Iterable[AnyRecipe]) -> None:
        """Start the workers of recipes that are run later."""
        for recipe in sorted(recipes, key=lambda each: -each.world_size):
            with _storage():
                self._crew(recipe).start()

    def footprint(self, recipe: ProgramRecipe) -> Footprint:
        """Return what a step of a program asks of one device at full size, as its recipe wants it measured."""
        report = self.run(recipe)[0]
        raised = f"{report.raised.line} ({', '.join(report.raised.where[-1:])})" if report.raised is not None else ""
        if report.footprint is None or (report.footprint.unknown and (raised or report.reason)):
            return Footprint(unknown=raised or report.reason or report.status)
        return report.footprint

    def _crew(self, recipe: AnyRecipe) -> Crew:
        size = recipe.world_size
        if size > 1 and self.options.processes is not None:
            size = self.options.processes
        key = (size, preload_of(recipe), variables_of(recipe))
        wider = next((each for each in self._crews if each[0] > size == 1 and each[1:] == key[1:]), None)
        if wider is not None and launch.shares_import(bool(key[1]), self.options):
            return self._crews.get(key) or self._crews[wider]
        if key not in self._crews:
            if self.progress is not None:
                self.progress(f"starting {size} worker{'s' * (size > 1)}")
            self._crews[key] = Crew(key, self.options, self.progress)
        return self._crews[key]

    def close(self) -> None:
        """End every worker and remove every file."""
        for crew in self._crews.values():
            crew.close()
        self._crews.clear()

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def preload_of(recipe: AnyRecipe) -> tuple[str, ...]:
    """Return what the worker imports before the run: nothing when a program's order of imports is the question."""
    if isinstance(recipe, ProgramRecipe):
        return () if recipe.cold else _preload_of_text(program_text(recipe))
    return (*LIBRARIES, *EXTRAS) if recipe.model.origin == "transformers" else LIBRARIES


def variables_of(recipe: AnyRecipe) -> tuple[tuple[str, str], ...]:
    """Return the variables that a recipe sets before torch is imported; a program sets its own."""
    if isinstance(recipe, ProgramRecipe):
        return ()
    return tuple((each.name, each.value) for each in recipe.environment if each.when == "before-import")


def _preload_of_text(text: str) -> tuple[str, ...]:
    found: tuple[str, ...] = LIBRARIES
    if any(each in text for each in ("transformers", "accelerate", "peft", "trl")):
        found += EXTRAS
    if any(each in text for each in ("Trainer", "trl")):
        found += ("transformers.trainer", "datasets")
    return (*found, "trl") if "trl" in text else found


@contextmanager
def _storage() -> Iterator[None]:
    """Turn what the system refuses the pool itself into VerifyUnavailable: a full disk, no file or process more."""
    try:
        yield
    except OSError as error:
        where = error.filename or os.environ.get("TMPDIR") or "the directory for temporary files"
        raise VerifyUnavailable(
            f"verification cannot keep its files in {where}: {error.strerror or error}; TMPDIR names another place"
        ) from None


def _report(data: dict[str, Any] | None) -> RankReport:
    return from_data(RankReport, data) if data is not None else RankReport(status="killed", reason="no result")


def _missing(said: dict[str, Any], options: Options) -> str:
    if str(said.get("missing", "")).partition(".")[0] == "torch":
        return MISSING_TORCH.format(python=options.python or "this Python")
    return f"the workers cannot import their libraries: {said['error']}"


def _last_line(log: str) -> str:
    """The line of a log that says most: the last that an exception ends with, else the last."""
    lines = [each.strip() for each in log.splitlines() if each.strip()]
    errors = [each for each in lines if re.match(r"[\w.]*(Error|Exception|Interrupt|Exit)\b", each)]
    return (errors or lines or ["no output"])[-1]
