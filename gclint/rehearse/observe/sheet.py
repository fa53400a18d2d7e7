"""One rank's record as it is written: a line of JSON for each event, of bounded size."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

LIMIT = 48 << 20
MOST = 6000  # events of one kind
LASTING = ("end", "model", "marks")  # kept however many there are


class Sheet:
    """Writes events at once, so that they are there when the process is killed; opened before anything is replaced."""

    def __init__(self, directory: Path, rank: int):
        path = directory / f"rank-{rank}.jsonl"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._left = LIMIT
        self._saved = os.open(directory / f"saved-{rank}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._counts: dict[str, int] = {}

    def write(self, event: dict[str, Any]) -> None:
        """Write one event; of a kind the first thousands are kept."""
        kind = event["kind"]
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if self._counts[kind] > MOST and kind not in LASTING:
            return
        data = json.dumps(event).encode() + b"\n"
        self._left -= len(data)
        if self._left > 0 or kind in LASTING:
            os.write(self._file, data)

    def keep(self, data: bytes) -> None:
        """Keep a file that the run has saved, beside the record."""
        while data:
            data = data[os.write(self._saved, data) :]


class Memory:
    """A record that is kept in memory, for a run that is looked at from inside."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def keep(self, data: bytes) -> None:
        """Leave saved files where they are."""

    def write(self, event: dict[str, Any]) -> None:
        """Keep one event."""
        if len(self.events) < MOST or event["kind"] in LASTING:
            self.events.append(event)
