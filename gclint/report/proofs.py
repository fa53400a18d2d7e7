"""What verification saw: a table for people, plain data for programs, and a line while it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gclint.fix.proof import Proof
from gclint.report import fits
from gclint.report.escape import printable as plain

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = ("torch", "transformers")
COLOURS = {"confirmed": "green", "passes": "cyan", "rejected": "red", "unverified": "yellow"}


def as_data(proofs: Sequence[Proof]) -> list[dict[str, Any]]:
    """The verdicts as plain data: code, place, fix, verdict, reason, and what was measured."""
    return [
        {
            "code": proof.finding.code,
            "filename": proof.finding.location.path,
            "row": proof.finding.location.line,
            "fix": proof.fix,
            "verdict": proof.verdict,
            "reason": proof.reason,
            **proof.data,
        }
        for proof in proofs
    ]


def show(proofs: Sequence[Proof], console: Console) -> None:
    """Print the table: rule and place, what was seen and measured before and after, evidence, device, verdict."""
    from rich.table import Table

    table = Table(title="Verification", title_justify="left", show_lines=True)
    table.add_column("fix, before and after", overflow="fold", ratio=1)
    table.add_column("evidence")
    table.add_column("verdict", no_wrap=True)
    for proof in proofs:
        table.add_row(*_row(proof))
    console.print(table)
    fits.show(fits.distinct(proofs), console)


def _row(proof: Proof) -> list[str]:
    from rich.markup import escape

    data, place = proof.data, proof.finding.location
    where = [str(data[name]) for name in ("evidence", "device") if name in data]
    where += [f"{name} {version}" for name, version in data.get("versions", {}).items() if name in SHOWN]
    processes = data.get("processes", 1)
    if processes and processes > 1:
        where.append(f"{processes} ranks")
    colour = COLOURS[proof.verdict]
    told = [f"[bold]{proof.finding.code}[/bold] {escape(plain(place.path))}:{place.line}"]
    if "before" in data:
        told += [f"before: {escape(_cut(str(data['before'])))}", f"after:  {escape(_after(data))}"]
    told += _measured(data)
    sized = data.get("fit", {})
    if sized.get("fits") is False:
        told.append(f"full size: {fits.verdict_text(sized)}")
    if proof.verdict != "confirmed":
        told.append(escape(proof.reason))
    return [
        "\n".join(told),
        "\n".join(where) or "-",
        f"[{colour}]{proof.verdict}[/{colour}]",
    ]


def _measured(data: Any) -> list[str]:
    """What else was measured: memory, time, bytes kept for backward, recomputed regions, keys of loaded state dicts."""
    pairs = (
        ("memory", "peak_memory_bytes", fits.gibibytes),
        ("seconds per step", "seconds_per_step", lambda value: f"{value:.3f}"),
        ("kept for backward", "saved_bytes", fits.gibibytes),
        ("recomputed regions", "recomputations", str),
    )
    told = []
    for title, name, shown in pairs:
        before, after = data.get(name) or (None, None)
        if before is not None and after is not None and (before or after):
            told.append(f"{title}: {shown(before)} -> {shown(after)}")
    keys = [loads[0] for loads in data.get("keys_loaded", ()) if loads]
    if keys:
        told.append("keys loaded: " + " -> ".join(f"{item['loaded']} of {item['present']}" for item in keys))
    return told


def _after(data: Any) -> str:
    text = _cut(str(data.get("after", "-")))
    error = data.get("gradient_error")
    return text if error is None else f"{text}, {gradients_text(error)}"


def verdict_line(proof: Proof) -> str:
    """Return one line for a verdict that has just become known."""
    place = f"{plain(proof.finding.location.path)}:{proof.finding.location.line}"
    return f"{proof.verdict}: {proof.finding.code} {place}"


def say_verdict(proof: Proof) -> None:
    """Print a verdict on standard error as soon as it is known."""
    print(verdict_line(proof), file=sys.stderr, flush=True)


def gradients_text(error: float) -> str:
    """Return how far gradients are from the reference's, in words."""
    return f"gradients within {error:.0e} of the reference's" if error else "gradients equal the reference's"


def _cut(text: str, limit: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


class Watch:
    """A line on the terminal that says what is running and for how long, unless something `has_the_terminal`."""

    def __init__(self, progress: Any):
        self._progress, self._began, self._silent = progress, time.monotonic(), False
        self._task = progress.add_task("reading the project", total=None, start=True)

    def __call__(self, text: str) -> None:
        """Say that `text` is running now."""
        if not self._silent:
            self._progress.start()
            self._progress.update(self._task, description=f"{text} ({time.monotonic() - self._began:.0f} s)")

    def say(self, proof: Proof) -> None:
        """Print one verdict above the line."""
        if not self._silent:
            self._progress.console.print(verdict_line(proof), markup=False, highlight=False)

    @contextmanager
    def has_the_terminal(self) -> Iterator[None]:
        """Something else has the terminal while the block runs."""
        self._progress.stop()
        self._silent = True
        try:
            yield
        finally:
            self._silent = False


@contextmanager
def watching() -> Iterator[Watch | None]:
    """A function that says on the terminal what is running and for how long; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Watch(progress)
