"""A line on the terminal that says how far a long check is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gclint.progress import watched
from gclint.report.escape import printable

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_UNTIL_SHOWN = 1.0


@contextmanager
def walks_shown() -> Iterator[None]:
    """Say on the terminal, and nowhere else, what is walked once it has taken long; the line goes at the end."""
    if not sys.stderr.isatty():
        yield
        return
    line = _Line()
    try:
        with watched(line.show):
            yield
    finally:
        line.end()


class _Line:
    def __init__(self) -> None:
        self._began, self._shown = time.monotonic(), ""
        self._progress: Progress | None = None

    def show(self, what: str, done: int, total: int, path: str) -> None:
        if time.monotonic() - self._began < SECONDS_UNTIL_SHOWN:
            return
        if self._progress is None:
            self._progress = _line()
            self._progress.add_task(what, total=total, path="")
            self._progress.start()
        near, another = os.path.join(*path.split(os.sep)[-2:]), what != self._shown
        self._shown = what
        self._progress.update(
            self._progress.task_ids[0],
            description=what,
            completed=done,
            total=total,
            path=printable(near),
            refresh=another,
        )

    def end(self) -> None:
        if self._progress is not None:
            self._progress.stop()


def _line() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    file = TextColumn("{task.fields[path]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), file)
    # forks are made meanwhile: streams of the process that rich has taken over would be locked in them
    return Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    )
