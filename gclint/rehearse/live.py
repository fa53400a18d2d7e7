"""What the ranks are doing, on the terminal, while they do it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

INTERVAL = 0.25
TAIL = 1 << 16


@contextmanager
def live(directory: Path) -> Iterator[Callable[[str], None]]:
    """A function that says what is being run, above a table of the ranks' last steps; silent where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.live import Live

    said = [""]
    done = threading.Event()
    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as shown:

        def follow() -> None:
            while not done.wait(INTERVAL):
                shown.update(_table(directory, said[0]), refresh=True)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield lambda text: said.__setitem__(0, text)
        finally:
            done.set()
            thread.join()


def _table(directory: Path, said: str) -> Any:
    from rich.table import Table

    table = Table(title=said or "starting", title_justify="left")
    for name in ("rank", "step", "loss", "gradient", "rate", "at"):
        table.add_column(name, justify="left" if name == "at" else "right")
    for path in sorted(directory.glob("rank-*.jsonl")):
        step, last = _last(path)
        losses = [value for each in step.get("losses", ()) for value in each["values"]]
        cells = [
            f"{losses[-1]:.4g}" if losses else "",
            f"{step['total']:.3g}" if step else "",
            f"{max(step['rates'], default=0):.3g}" if step else "",
        ]
        at = last.get("at")
        table.add_row(
            path.stem.removeprefix("rank-"), str(step.get("step", 0)), *cells, f"{at[0]}:{at[1]}" if at else ""
        )
    return table


def _last(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last step and the last event with a place."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        lines = file.read().decode("utf-8", "replace").splitlines()
    step: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        step = event if event["kind"] == "step" else step
        last = event if event.get("at") else last
    return step, last
