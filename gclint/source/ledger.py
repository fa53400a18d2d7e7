"""What earlier runs found out of each of many things, one a line, of which a run reads only those that it asks for.

As with any cache here nothing is trusted further than its shape; new lines are added at the end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from typing import Any

from gclint.source.cache import prepare, write_whole

MOST_BYTES = 32_000_000


class Ledger:
    """The entries under one `key` in a directory, or in texts that pass from one analysis to the next."""

    def __init__(self, place: str | dict[str, str], key: str):
        self._place = place
        self._key = key
        self._lines: dict[str, str] | None = None
        self._fresh: dict[str, str] = {}

    def get(self, name: str) -> Any:
        """Return the entry called `name`, None where there is none."""
        if self._lines is None:
            self._lines = dict(line.split(" ", 1) for line in self._text().split("\n") if " " in line)
        line = self._fresh.get(name) or self._lines.get(name)
        try:
            return json.loads(line) if line is not None else None
        except (ValueError, RecursionError):
            return None

    def put(self, name: str, value: Any) -> None:
        """Keep `value` (what JSON can hold) under `name`, which holds no blank."""
        self._fresh[name] = json.dumps(value, separators=(",", ":"))

    def save(self, alive: Collection[str]) -> None:
        """Write what is new; once that is too much, names that are not `alive` go. An error is no one's concern."""
        if not self._fresh:
            return
        lines = self._lines or {}
        held = {name: line for name, line in lines.items() if name in alive}
        whole = self._size(lines) > max(MOST_BYTES, 4 * self._size(held))
        held = held if whole else {}
        text = "".join(f"\n{name} {line}\n" for name, line in {**held, **self._fresh}.items())
        try:
            self._write(text, whole)
        except (OSError, ValueError):
            return
        self._lines, self._fresh = None, {}

    @staticmethod
    def _size(lines: dict[str, str]) -> int:
        return sum(map(len, lines.values()))

    @property
    def _path(self) -> str:
        return os.path.join(str(self._place), f"{self._key}.lines")

    def _text(self) -> str:
        if isinstance(self._place, dict):
            return self._place.get(self._key, "")
        try:
            with open(self._path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def _write(self, text: str, whole: bool) -> None:
        if isinstance(self._place, dict):
            self._place[self._key] = text if whole else self._text() + text
            return
        prepare(self._place)
        if whole:
            write_whole(self._path, text)
            return
        with open(self._path, "ab", buffering=0) as file:
            file.write(text.encode())
