"""Which lines of a few files a program executes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any


class Lines:
    """Notes the executed lines of the files `names` below `scratch`; `executed` has them by name, in order."""

    def __init__(self, scratch: Path, names: Iterable[str]):
        self._seen: dict[str, set[int]] = {name: set() for name in names}
        self._wanted = {os.path.realpath(scratch / name): seen for name, seen in self._seen.items()}
        self._known: dict[str, set[int] | None] = {}

    @property
    def executed(self) -> dict[str, list[int]]:
        """The lines noted so far."""
        return {name: sorted(seen) for name, seen in self._seen.items()}

    def start(self) -> None:
        """Note from now on, in this thread."""
        if self._wanted:
            sys.settrace(self._called)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        if name not in self._known:
            self._known[name] = self._wanted.get(os.path.realpath(name))
        return None if self._known[name] is None else self._stepped

    def _stepped(self, frame: FrameType, event: str, argument: Any) -> Any:
        seen = self._known[frame.f_code.co_filename]
        if seen is not None:
            seen.add(frame.f_lineno)
        return self._stepped
